"""The machine as its user describes it: bodies, joints, forces, inputs, sensors. Plain data, no mathematics."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.model.bodies import Body as Body
    from dalembert.model.bodies import BodyFrame as BodyFrame
    from dalembert.model.bodies import Point as Point
    from dalembert.model.mechanism import Mechanism as Mechanism

__all__ = attach(__name__)
