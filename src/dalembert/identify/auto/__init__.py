"""Identification that decides by itself and gives its reasons."""
