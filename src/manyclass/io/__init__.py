"""Files: svmlight text, safetensors, converted data files, data shared by ranks.

May import parallel, utils and datasets. Begin with atomic.py and the package of the format.
"""
