"""Faces: what a person meets, at the command line and in a browser; no science in them."""
