"""Closed loops of machine, observer and controller, and the function `simulate`."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.loop.noise import SensorFaults as SensorFaults

__all__ = attach(__name__)
