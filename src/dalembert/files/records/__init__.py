"""Records in files, one file per format."""
