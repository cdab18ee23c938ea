"""Matrices, covariance factors and noise of filters, as expressions."""
