"""Modes, poles, stability and kinds of linear systems."""
