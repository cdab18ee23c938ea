"""Equilibria, steady motions and linear models about them."""
