"""Linear systems along a parameter: tracked eigenvalues, critical speeds, regions of validity."""
