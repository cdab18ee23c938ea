"""Uniform beams, bars, shafts and strings, exactly."""
