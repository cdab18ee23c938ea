"""Methods of integration: one file each, named as the option of the command line calls it."""
