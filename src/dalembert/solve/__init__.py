"""Solvers: they take equations of motion and nothing else."""
