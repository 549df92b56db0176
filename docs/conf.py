"""Sphinx configuration."""

from importlib.metadata import version as installed_version

project = "manyclass"
copyright = "2026, the manyclass developers"
version = release = installed_version("manyclass")
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
autosummary_generate = True
numpydoc_show_class_members = False
myst_enable_extensions = ["dollarmath"]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "manyclass"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
