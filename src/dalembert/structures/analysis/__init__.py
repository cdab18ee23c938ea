"""Statics, stresses, prestress, buckling and spinning of structures."""
