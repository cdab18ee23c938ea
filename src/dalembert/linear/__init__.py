"""The linear world: second-order and state-space systems, their modes."""

from dalembert.linear.modes import Modes
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace

__all__ = ["Modes", "SecondOrder", "StateSpace"]
