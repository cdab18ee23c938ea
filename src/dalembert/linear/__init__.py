"""The linear world: second-order and state-space systems, their modes."""

from dalembert.linear.frequency import FrequencyResponse
from dalembert.linear.harmonic import frequency_response, harmonic_response
from dalembert.linear.modes import Modes
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.linear.superposition import frequency_grid, modal_frequency_response
from dalembert.linear.time_response import free_response, impulse_response, response, step_response

__all__ = [
    "FrequencyResponse",
    "Modes",
    "SecondOrder",
    "StateSpace",
    "free_response",
    "frequency_grid",
    "frequency_response",
    "harmonic_response",
    "impulse_response",
    "modal_frequency_response",
    "response",
    "step_response",
]
