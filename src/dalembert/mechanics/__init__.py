"""From a Mechanism to equations of motion."""

from dalembert.equations import equations
from dalembert.mechanics import absolute as absolute  # registers the producer of mechanisms

__all__ = ["equations"]
