"""Sampled laws and observers: a native loop over samples around a machine or a linear model."""
