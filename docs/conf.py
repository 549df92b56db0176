"""Sphinx configuration."""

import os
import sys
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("_ext")))
# The gallery draws into files.
os.environ.setdefault("MPLBACKEND", "agg")

project = "manyclass"
copyright = "2026, the manyclass developers"
version = release = installed_version("manyclass")
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_line_reference",
    "inherited_labels",
    "old_measurements",
    "stale_pages",
]
# Engines of clusters that are not installed.
autodoc_mock_imports = [
    name for name in ("ray", "pyspark", "py4j") if find_spec(name) is None
]
autosummary_generate = True
numpydoc_show_class_members = False
# Docstrings say the types.
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
smartquotes = False
highlight_language = (
    "none"  # of blocks without a language: output, the command line
)
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
# MathJax 3 lies beside the pages, which work without a network.
mathjax_path = "mathjax/tex-svg.js"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["manyclass.css"]
html_theme = "pydata_sphinx_theme"
html_title = "manyclass"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
}
# Pages that no section holds have nothing to show there.
html_sidebars = {
    "index": [],
    "install": [],
    "quickstart": [],
    "command_line": [],
    "search": [],
    "genindex": [],
    "py-modindex": [],
}
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "gallery_order.place_of",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "copyfile_regex": "",
}
