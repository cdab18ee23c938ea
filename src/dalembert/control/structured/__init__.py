"""Controllers of fixed structure for families of models."""
