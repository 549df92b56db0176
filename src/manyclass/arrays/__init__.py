"""Training on arrays that lie on devices, by the array API standard: a part of the rows, solvers.

Matrix products are the device's; labels, costs and certificates are those of all problems.
"""
