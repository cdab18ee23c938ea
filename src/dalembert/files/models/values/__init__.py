"""Names and values of a model file, worked out."""
