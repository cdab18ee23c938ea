"""Estimation: filters, observers and unknown forces, over records, sample by sample, or inside ``da.simulate``."""

from dalembert.estimate.estimate_result import Estimate
from dalembert.estimate.kalman import Kalman
from dalembert.estimate.process import Process, process

__all__ = ["Estimate", "Kalman", "Process", "process"]
