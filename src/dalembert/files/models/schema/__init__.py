"""What may stand in a model file."""
