"""Estimation: filters, observers and unknown forces, over records, sample by sample, or inside ``da.simulate``."""

from dalembert.estimate.process import Process, process

__all__ = ["Process", "process"]
