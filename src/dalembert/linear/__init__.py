"""The linear world: second-order and state-space systems, their modes."""

from dalembert.linear.balance import BalancedTruncation
from dalembert.linear.classify import Classification
from dalembert.linear.convolution import duhamel, impulse_function, release_function
from dalembert.linear.forms import controllability_matrix, observability_matrix, symmetric_form
from dalembert.linear.fourier import FourierSeries, PeriodicResponse, fourier_series, periodic_response
from dalembert.linear.frequency import FrequencyResponse
from dalembert.linear.harmonic import frequency_response, harmonic_response
from dalembert.linear.interconnect import append, connect
from dalembert.linear.modal import energy_damping, equivalent_viscous, modal_damping, rayleigh_coefficients
from dalembert.linear.modes import Modes
from dalembert.linear.norms import PeakGain
from dalembert.linear.riccati import RiccatiSolution, care, dare
from dalembert.linear.roots import Roots
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.stability import Stability
from dalembert.linear.state_space import StateSpace
from dalembert.linear.superposition import frequency_grid, modal_frequency_response
from dalembert.linear.sweeps import CriticalSpeed, Crossing, Sweep, campbell, root_locus, sweep
from dalembert.linear.time_response import free_response, impulse_response, response, step_response
from dalembert.linear.validity import Validity

__all__ = [
    "BalancedTruncation",
    "Classification",
    "CriticalSpeed",
    "Crossing",
    "FourierSeries",
    "FrequencyResponse",
    "Modes",
    "PeakGain",
    "PeriodicResponse",
    "RiccatiSolution",
    "Roots",
    "SecondOrder",
    "Stability",
    "StateSpace",
    "Sweep",
    "Validity",
    "append",
    "campbell",
    "care",
    "connect",
    "controllability_matrix",
    "dare",
    "duhamel",
    "energy_damping",
    "equivalent_viscous",
    "fourier_series",
    "free_response",
    "frequency_grid",
    "frequency_response",
    "harmonic_response",
    "impulse_function",
    "impulse_response",
    "modal_damping",
    "modal_frequency_response",
    "observability_matrix",
    "periodic_response",
    "rayleigh_coefficients",
    "release_function",
    "response",
    "root_locus",
    "step_response",
    "sweep",
    "symmetric_form",
]
