"""Modes from outputs alone beside SSI: frequency domain decomposition, several set-ups as one."""
