"""Functions of numbers and of symbols: in laws of forces, inputs and sensors they stay expressions."""

from dalembert.expressions import quantities
from dalembert.expressions.quantities import *  # noqa: F403

__all__ = quantities.__all__
