"""Modes from outputs alone, besides SSI: frequency domain decomposition, and several set-ups merged."""
