"""Identified models and their quality."""
