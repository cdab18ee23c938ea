"""Subspace methods, order selection and what residuals show."""
