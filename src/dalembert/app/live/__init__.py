"""The live view in a browser."""
