"""Places of X and of the numbers of its rows: the device, or host memory, block by block."""
