"""Texts of model files: sources, lines, arithmetic."""
