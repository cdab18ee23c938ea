"""Spectra, frequency responses and Markov parameters."""
