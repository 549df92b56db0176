"""Documented names of manyclass.io.dataset_file.format."""

from manyclass.io.dataset_file.format import load_data, save_blocks, save_data

__all__ = ["load_data", "save_blocks", "save_data"]
