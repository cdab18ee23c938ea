"""Data of flexible bodies in files, one file per format."""
