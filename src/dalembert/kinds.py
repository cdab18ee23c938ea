"""Registries of kinds (joints, forces, filters, formats, ...), and the kinds that installed packages add to them.

With ``from dalembert import kinds``, `kinds.JOINTS["revolute"]` is the declaration of a kind, `list(kinds.JOINTS)` are
their names. A module named as an entry point of a group declares further kinds in the registries of that group
(`docs/how-to/own-kinds.md`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.app.command_line.registry import COMMANDS as COMMANDS
    from dalembert.control.structured.goal import GOALS as GOALS
    from dalembert.estimate.engine.filter_kinds import FILTERS as FILTERS
    from dalembert.files.bodies.format import BODY_FORMATS as BODY_FORMATS
    from dalembert.files.modal.format import MODAL_FORMATS as MODAL_FORMATS
    from dalembert.files.models.format import MODEL_FORMATS as MODEL_FORMATS
    from dalembert.files.records.format import RECORD_FORMATS as RECORD_FORMATS
    from dalembert.mechanics.actuators import ACTUATOR_EFFORTS as ACTUATOR_EFFORTS
    from dalembert.mechanics.forces import FORCE_EQUATIONS as FORCE_EQUATIONS
    from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS as JOINT_EQUATIONS
    from dalembert.mechanics.sensors import OUTPUTS as OUTPUTS
    from dalembert.model.actuators import ACTUATORS as ACTUATORS
    from dalembert.model.couplings import COUPLERS as COUPLERS
    from dalembert.model.forces import FORCES as FORCES
    from dalembert.model.joints import JOINTS as JOINTS
    from dalembert.model.sensors import SENSORS as SENSORS
    from dalembert.solve.integrate.method import INTEGRATORS as INTEGRATORS
    from dalembert.structures.frame.element import FRAME_ELEMENTS as FRAME_ELEMENTS
    from dalembert.structures.ranking.method import RANKINGS as RANKINGS
    from dalembert.structures.solid.element import SOLID_ELEMENTS as SOLID_ELEMENTS

GROUPS: dict[str, tuple[str, ...]] = {
    "dalembert.joints": ("JOINTS", "JOINT_EQUATIONS"),
    "dalembert.couplers": ("COUPLERS",),
    "dalembert.forces": ("FORCES", "FORCE_EQUATIONS"),
    "dalembert.actuators": ("ACTUATORS", "ACTUATOR_EFFORTS"),
    "dalembert.sensors": ("SENSORS", "OUTPUTS"),
    "dalembert.integrators": ("INTEGRATORS",),
    "dalembert.filters": ("FILTERS",),
    "dalembert.goals": ("GOALS",),
    "dalembert.frame_elements": ("FRAME_ELEMENTS",),
    "dalembert.solid_elements": ("SOLID_ELEMENTS",),
    "dalembert.rankings": ("RANKINGS",),
    "dalembert.record_formats": ("RECORD_FORMATS",),
    "dalembert.model_formats": ("MODEL_FORMATS",),
    "dalembert.modal_formats": ("MODAL_FORMATS",),
    "dalembert.body_formats": ("BODY_FORMATS",),
    "dalembert.commands": ("COMMANDS",),
}  # entry points, and the registries that their modules fill

__all__ = [*attach(__name__), "GROUPS", "AddedKind", "list_added"]


class AddedKind(NamedTuple):
    """A kind that an installed package adds: entry point group, name, package and its version.

    The name is empty where the module of an entry point declares no kind, or does not load.
    """

    group: str
    name: str
    package: str
    version: str


def list_added() -> list[AddedKind]:
    """Kinds that installed packages add through entry points; a module that does not load is a warning.

    Examples
    --------
    >>> from dalembert import kinds
    >>> [one.name for one in kinds.list_added() if one.group == "dalembert.nothing"]
    []
    """
    from importlib.metadata import entry_points

    added: dict[AddedKind, None] = {}
    for group, names in GROUPS.items():
        points = entry_points(group=group)
        registries = [getattr(sys.modules[__name__], name) for name in (names if points else ())]
        homes = {kind: home for registry in registries for kind, home in registry.homes.items()}
        for point in points:
            package, version = (point.dist.name, point.dist.version) if point.dist is not None else ("?", "?")
            own = [kind for kind, home in homes.items() if _top(home) == _top(point.module)]
            added |= dict.fromkeys(AddedKind(group, kind, package, version) for kind in own or [""])
    return list(added)


def _top(module: str) -> str:
    return module.partition(".")[0]
