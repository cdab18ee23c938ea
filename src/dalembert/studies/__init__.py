"""Case studies, one file each."""
