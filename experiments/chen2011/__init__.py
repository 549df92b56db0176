"""Chen et al. 2011: characterizing inverse time dependency in multi-class learning."""
