"""Coupling of parts: superelements at boundary coordinates, and measured or computed receptances."""
