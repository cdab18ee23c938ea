"""Modes from measured frequency responses of several inputs and outputs."""
