"""Parameters of a machine from records."""
