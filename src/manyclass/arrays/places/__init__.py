"""Where rows of X and numbers of rows lie: on the device, or in host memory, block by block."""
