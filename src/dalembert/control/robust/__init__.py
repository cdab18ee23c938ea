"""Robust control: synthesis by H2 and H-infinity norms and by linear matrix inequalities, and what it holds for."""
