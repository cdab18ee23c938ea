"""From a Mechanism to equations of motion. ``dalembert.mechanics.equations`` also takes mechanisms."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.mechanics.equations_of_mechanism import equations as equations

__all__ = attach(__name__)
