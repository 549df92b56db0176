"""safetensors files: header, writer, memory-mapped reader.

May import io.atomic and utils. Begin with files.py.
"""
