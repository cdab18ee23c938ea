"""The machine as its user said it: bodies, joints, forces, inputs, sensors. Plain data, no mathematics."""

from dalembert.model.bodies import Body, Frame, Point
from dalembert.model.mechanism import Mechanism

__all__ = ["Body", "Frame", "Mechanism", "Point"]
