"""Linear systems along a parameter: eigenvalues followed, critical speeds, regions of validity."""
