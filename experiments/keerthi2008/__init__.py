"""Keerthi et al. 2008: figures 1 to 5, sections 2.2 and 2.3, tables 1.1, 4.2 and 4.3."""
