"""Force of a spring, damper, stop, friction or contact."""

from __future__ import annotations

from collections.abc import Mapping

from dalembert.core.errors import unknown_name
from dalembert.core.findings import Finding
from dalembert.model.forces import Force
from dalembert.model.options import option
from dalembert.model.sensors.measure import Measure, measure


@measure("spring force")
class SpringForceMeasure(Measure):
    """Tension of a spring or damper; effort of a stop or friction; normal force of a contact [N or N m]."""

    spring: str | Force = option("named force", "name of the force")
    unit = "N"

    def problems(self, coordinates: Mapping[str, tuple[str, str]], forces: Mapping[str, Force]) -> list[Finding]:
        measured = [name for name, force in forces.items() if force.measured]
        if self.spring in measured:
            return []
        problem = unknown_name("spring", str(self.spring), measured, "the mechanism")
        return [Finding("unknown-name", problem, {"name": str(self.spring)})]


def spring_force(spring: str | Force) -> SpringForceMeasure:
    """Tension of a spring or damper [N], or torque of a rotational one [N m].

    Also the effort of a stop or of friction along its coordinate, and the normal force of a contact.
    """
    return SpringForceMeasure(spring)
