"""The keys and values of a model file."""
