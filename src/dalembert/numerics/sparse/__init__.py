"""Factors of large sparse symmetric matrices: orders of elimination, and what is factored along them."""
