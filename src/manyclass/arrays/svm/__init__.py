"""Support vector machines on a device: rounds of visits, ADMM, Newton's method, certificates."""
