"""Commands on model files."""
