"""Training on arrays of PyTorch, CuPy and others that lie on a device, by the array API standard.

Rows answer the questions of ``manyclass.rows`` on the device. Problems and certificates are the
same as on the CPU.
"""
