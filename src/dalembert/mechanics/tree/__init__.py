"""Equations of a Mechanism in joint coordinates: a spanning tree, its recursions, and rows for the joints it cuts."""
