"""From a Mechanism to equations of motion."""

from dalembert.equations import equations
from dalembert.mechanics.absolute import producer as producer

__all__ = ["equations"]
