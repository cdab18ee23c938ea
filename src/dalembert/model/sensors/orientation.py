"""Orientation of a body in space."""

from __future__ import annotations

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.model.bodies import Place
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure

FORMS = {  # of an orientation: the names of its components
    "rotation vector": ("rx", "ry", "rz"),
    "tait-bryan": ("roll", "pitch", "yaw"),
    "quaternion": ("e0", "e1", "e2", "e3"),
}


@measure("orientation")
class OrientationMeasure(Measure):
    """Orientation of a body in space: rotation vector or Tait-Bryan angles [rad], or quaternion."""

    body: Place = option("place", "a body, or a frame of it")
    form: str = option(
        "choice", "`rx, ry, rz`; `roll, pitch, yaw`; or `e0` to `e3`", default="rotation vector", choices=tuple(FORMS)
    )
    unit = "rad"

    def check(self, what: str) -> None:
        if self.bodies()[0].planar:
            advice = Advice("Use {} of the body's angle.", Call("da.angle"))
            raise ModelError("not-supported", f"{what}: a planar body has an angle, not an orientation.", advice)


def orientation(body: Place, form: str = "rotation vector") -> OrientationMeasure:
    """Orientation in space: ``"rotation vector"`` rx, ry, rz [rad]; ``"tait-bryan"`` roll, pitch, yaw [rad];
    ``"quaternion"`` e0 to e3. The length of the rotation vector, between 0 and 2π, is continuous along a run.
    """
    return OrientationMeasure(body, form)
