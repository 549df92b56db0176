"""Every formulation on the same data, and a numerical test of Fisher consistency."""
