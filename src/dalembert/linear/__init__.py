"""The linear world: second-order and state-space systems, their modes."""

from dalembert.linear.balance import BalancedTruncation
from dalembert.linear.forms import symmetric_form
from dalembert.linear.frequency import FrequencyResponse
from dalembert.linear.harmonic import frequency_response, harmonic_response
from dalembert.linear.interconnect import append, connect
from dalembert.linear.modes import Modes
from dalembert.linear.norms import PeakGain
from dalembert.linear.roots import Roots
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.linear.superposition import frequency_grid, modal_frequency_response
from dalembert.linear.time_response import free_response, impulse_response, response, step_response

__all__ = [
    "BalancedTruncation",
    "FrequencyResponse",
    "Modes",
    "PeakGain",
    "Roots",
    "SecondOrder",
    "StateSpace",
    "append",
    "connect",
    "free_response",
    "frequency_grid",
    "frequency_response",
    "harmonic_response",
    "impulse_response",
    "modal_frequency_response",
    "response",
    "step_response",
    "symmetric_form",
]
