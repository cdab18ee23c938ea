"""Estimation: filters, observers and unknown forces, over records, sample by sample, or inside ``da.simulate``."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.estimate.algebra.steady_gain import SteadyGain as SteadyGain
    from dalembert.estimate.engine.consistency import Consistency as Consistency
    from dalembert.estimate.engine.consistency import chi_square_band as chi_square_band
    from dalembert.estimate.engine.consistency import mean_nees as mean_nees
    from dalembert.estimate.engine.consistency import nees as nees
    from dalembert.estimate.engine.estimate import Estimate as Estimate
    from dalembert.estimate.engine.filter import Filter as Filter
    from dalembert.estimate.engine.filter_kinds import FILTERS as FILTERS
    from dalembert.estimate.engine.filter_kinds import FilterKind as FilterKind
    from dalembert.estimate.engine.metrics import Comparison as Comparison
    from dalembert.estimate.engine.metrics import compare as compare
    from dalembert.estimate.engine.sensed_inputs import SensedInputs as SensedInputs
    from dalembert.estimate.engine.sensed_inputs import sense_inputs as sense_inputs
    from dalembert.estimate.engine.stepper import FilterStepper as FilterStepper
    from dalembert.estimate.filters.extended_kalman import ExtendedKalman as ExtendedKalman
    from dalembert.estimate.filters.extended_kalman_bucy import ExtendedKalmanBucy as ExtendedKalmanBucy
    from dalembert.estimate.filters.joint_input_kalman import JointInputKalman as JointInputKalman
    from dalembert.estimate.filters.kalman import Kalman as Kalman
    from dalembert.estimate.filters.kalman_bucy import KalmanBucy as KalmanBucy
    from dalembert.estimate.filters.sigma_point_kalman import SigmaPointKalman as SigmaPointKalman
    from dalembert.estimate.filters.sigma_points import CentralDifference as CentralDifference
    from dalembert.estimate.filters.sigma_points import Cubature as Cubature
    from dalembert.estimate.filters.sigma_points import Scaled as Scaled
    from dalembert.estimate.filters.sigma_points import SphericalSimplex as SphericalSimplex
    from dalembert.estimate.filters.sigma_points import Symmetric as Symmetric
    from dalembert.estimate.forces.check import ForceCheck as ForceCheck
    from dalembert.estimate.forces.laws import ForceLaw as ForceLaw
    from dalembert.estimate.forces.laws import GaussMarkov as GaussMarkov
    from dalembert.estimate.forces.laws import LowPassed as LowPassed
    from dalembert.estimate.forces.laws import RandomWalk as RandomWalk
    from dalembert.estimate.forces.model import ForceModel as ForceModel
    from dalembert.estimate.forces.model import model_forces as model_forces
    from dalembert.estimate.forces.two_stage import TwoStage as TwoStage
    from dalembert.estimate.forces.two_stage import TwoStageEstimate as TwoStageEstimate
    from dalembert.estimate.judge.local_observability import LocalObservability as LocalObservability
    from dalembert.estimate.judge.local_observability import local_observability as local_observability
    from dalembert.estimate.judge.observability_map import ObservabilityMap as ObservabilityMap
    from dalembert.estimate.judge.observability_map import observability_map as observability_map
    from dalembert.estimate.judge.operation_count import OperationCount as OperationCount
    from dalembert.estimate.judge.operation_count import operation_count as operation_count
    from dalembert.estimate.judge.sensors import Accelerometer as Accelerometer
    from dalembert.estimate.judge.sensors import Encoder as Encoder
    from dalembert.estimate.judge.sensors import ForceSensor as ForceSensor
    from dalembert.estimate.judge.sensors import Quantiser as Quantiser
    from dalembert.estimate.judge.sensors import SimulatedSensor as SimulatedSensor
    from dalembert.estimate.judge.sensors import measure as measure
    from dalembert.estimate.judge.smoother import smooth as smooth
    from dalembert.estimate.judge.tuning import Tuned as Tuned
    from dalembert.estimate.judge.tuning import tune as tune
    from dalembert.estimate.kinematic.check import KinematicCheck as KinematicCheck
    from dalembert.estimate.kinematic.lanczos_derivative import lanczos_derivative as lanczos_derivative
    from dalembert.estimate.kinematic.model import KinematicModel as KinematicModel
    from dalembert.estimate.kinematic.observer import model_kinematics as model_kinematics
    from dalembert.estimate.kinematic.switching import Switching as Switching
    from dalembert.estimate.kinematic.switching import Window as Window
    from dalembert.estimate.models.machine import machine_process as machine_process
    from dalembert.estimate.models.process import Process as Process
    from dalembert.estimate.models.process import process as process
    from dalembert.estimate.models.user_model import UserModel as UserModel
    from dalembert.numerics.runge_kutta import Tableau as Tableau

__all__ = attach(__name__)
