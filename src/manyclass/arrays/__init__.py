"""Training on devices, with arrays of PyTorch, CuPy and others, by the array API standard.

The classes of rows implement the interfaces of ``manyclass.rows`` on the device. Problems and
certificates are the same as on the CPU.
"""
