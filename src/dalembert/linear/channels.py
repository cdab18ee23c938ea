"""Units of the channels of a linear system."""

from __future__ import annotations

from typing import Any


def input_units(system: Any) -> dict[str, str]:
    """Units of the inputs by name, but of those named like a coordinate, state or output, whose unit it is."""
    others = {*getattr(system, "coordinates", ()), *getattr(system, "states", ()), *system.outputs}
    return {name: system.units[name] for name in system.inputs if name in system.units and name not in others}
