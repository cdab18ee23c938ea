"""Methods of constrained dynamics on plain matrices, one file each."""
