"""Estimation: filters, observers and unknown forces, over records, sample by sample, or inside ``da.simulate``."""

from dalembert.estimate.estimate_result import Estimate
from dalembert.estimate.extended import ExtendedKalman
from dalembert.estimate.force_laws import ForceLaw, GaussMarkov, LowPassed, RandomWalk
from dalembert.estimate.force_model import ForceCheck, ForceModel, forces
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
from dalembert.estimate.two_stage import TwoStage, TwoStageEstimate
from dalembert.estimate.user_model import Model

__all__ = [
    "CentralDifference",
    "Cubature",
    "Estimate",
    "ExtendedKalman",
    "ForceCheck",
    "ForceLaw",
    "ForceModel",
    "GaussMarkov",
    "Kalman",
    "KinematicCheck",
    "KinematicModel",
    "LowPassed",
    "Model",
    "Process",
    "RandomWalk",
    "Scaled",
    "SigmaPointKalman",
    "SphericalSimplex",
    "Switching",
    "Symmetric",
    "Tableau",
    "TwoStage",
    "TwoStageEstimate",
    "Window",
    "forces",
    "kinematic",
    "lanczos",
    "process",
]
