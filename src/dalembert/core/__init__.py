"""The floor of the house: array types, argument checks, texts and tables, errors, progress, files written whole."""
