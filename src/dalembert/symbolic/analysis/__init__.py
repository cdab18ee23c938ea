"""Analyses of systems in symbols: linear equations, reductions, symmetries."""
