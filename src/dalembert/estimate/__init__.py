"""Estimation: filters, observers and unknown forces, over records, sample by sample, or inside ``da.simulate``."""

from dalembert.estimate import identified_model  # noqa: F401  filters take what da.identify found
from dalembert.estimate.consistency import Consistency, chi_square_band, mean_nees, nees
from dalembert.estimate.estimate_result import Estimate
from dalembert.estimate.extended import ExtendedKalman
from dalembert.estimate.extended_bucy import ExtendedKalmanBucy
from dalembert.estimate.filtering import Filter
from dalembert.estimate.force_check import ForceCheck
from dalembert.estimate.force_laws import ForceLaw, GaussMarkov, LowPassed, RandomWalk
from dalembert.estimate.force_model import ForceModel, forces
from dalembert.estimate.joint_input import JointInputKalman
from dalembert.estimate.kalman import Kalman
from dalembert.estimate.kalman_bucy import KalmanBucy
from dalembert.estimate.kinematic_check import KinematicCheck
from dalembert.estimate.kinematic_lanczos import lanczos
from dalembert.estimate.kinematic_model import KinematicModel
from dalembert.estimate.kinematic_observer import kinematic
from dalembert.estimate.kinematic_switching import Switching, Window
from dalembert.estimate.kinematic_watching import Sensed, sensed
from dalembert.estimate.machine import machine_process
from dalembert.estimate.metrics import Comparison, compare
from dalembert.estimate.observability import Observability, observability
from dalembert.estimate.process import Process, process
from dalembert.estimate.sensors import Accelerometer, Encoder, ForceSensor, Quantiser, Sensor, measure
from dalembert.estimate.sigma_point_filter import SigmaPointKalman
from dalembert.estimate.sigma_points import CentralDifference, Cubature, Scaled, SphericalSimplex, Symmetric
from dalembert.estimate.smoother import smooth
from dalembert.estimate.steady import Steady
from dalembert.estimate.stepper import Stepper
from dalembert.estimate.tableau import Tableau
from dalembert.estimate.tuning import Tuned, tune
from dalembert.estimate.two_stage import TwoStage, TwoStageEstimate
from dalembert.estimate.user_model import Model

__all__ = [
    "Accelerometer",
    "CentralDifference",
    "Comparison",
    "Consistency",
    "Cubature",
    "Encoder",
    "Estimate",
    "ExtendedKalman",
    "ExtendedKalmanBucy",
    "Filter",
    "ForceCheck",
    "ForceLaw",
    "ForceModel",
    "ForceSensor",
    "GaussMarkov",
    "JointInputKalman",
    "Kalman",
    "KalmanBucy",
    "KinematicCheck",
    "KinematicModel",
    "LowPassed",
    "Model",
    "Observability",
    "Process",
    "Quantiser",
    "RandomWalk",
    "Scaled",
    "Sensed",
    "Sensor",
    "SigmaPointKalman",
    "SphericalSimplex",
    "Steady",
    "Stepper",
    "Switching",
    "Symmetric",
    "Tableau",
    "Tuned",
    "TwoStage",
    "TwoStageEstimate",
    "Window",
    "chi_square_band",
    "compare",
    "forces",
    "kinematic",
    "lanczos",
    "machine_process",
    "mean_nees",
    "measure",
    "nees",
    "observability",
    "process",
    "sensed",
    "smooth",
    "tune",
]
