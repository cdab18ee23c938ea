"""Common foundations: array types, argument checks, texts and tables, errors, progress, files written whole."""
