"""Tables of a model file made into parts of a machine."""
