"""Beam and bar elements, and the forces inside them."""
