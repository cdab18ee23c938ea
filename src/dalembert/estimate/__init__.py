"""Estimation: filters, observers and unknown forces, over records, sample by sample, or inside ``da.simulate``."""

from dalembert.estimate.estimate_result import Estimate
from dalembert.estimate.extended import ExtendedKalman
from dalembert.estimate.kalman import Kalman
from dalembert.estimate.kinematic_check import KinematicCheck
from dalembert.estimate.kinematic_lanczos import lanczos
from dalembert.estimate.kinematic_model import KinematicModel
from dalembert.estimate.kinematic_observer import kinematic
from dalembert.estimate.kinematic_switching import Switching, Window
from dalembert.estimate.machine import Tableau
from dalembert.estimate.process import Process, process
from dalembert.estimate.sigma_point_filter import SigmaPointKalman
from dalembert.estimate.sigma_points import CentralDifference, Cubature, Scaled, SphericalSimplex, Symmetric
from dalembert.estimate.user_model import Model

__all__ = [
    "CentralDifference",
    "Cubature",
    "Estimate",
    "ExtendedKalman",
    "Kalman",
    "KinematicCheck",
    "KinematicModel",
    "Model",
    "Process",
    "Scaled",
    "SigmaPointKalman",
    "SphericalSimplex",
    "Switching",
    "Symmetric",
    "Tableau",
    "Window",
    "kinematic",
    "lanczos",
    "process",
]
