"""Names of channels in a loop: those of the machine, of a model linearized from it, of a record."""

from __future__ import annotations

from dalembert.equations import EquationsOfMotion
from dalembert.linear import StateSpace


def rate_names(model: StateSpace) -> dict[str, str]:
    """Names of rates in a machine -> their names in a model linearized from it."""
    return {rate: f"{name}.rate" for name, rate in model.provenance.get("rates", {}).items()}


def machine_name(eqs: EquationsOfMotion, name: str) -> str:
    """The channel meant: shorthands, and "A.angle.rate" as linear models call the rate of the measure A.angle."""
    full = eqs.full_name(name)
    stem = eqs.full_name(full.removesuffix(".rate"))
    known = any(full in group.index for group in (eqs.measures, eqs.measure_rates, eqs.coordinates, eqs.speeds,
                                                  eqs.internal, eqs.outputs, eqs.inputs))  # fmt: skip
    if known or stem == full:
        return full
    if stem in eqs.measures.index:
        return eqs.measure_rates.names[eqs.measures.index[stem]]
    return full


def reference_channel(name: str) -> str:
    """The channel of a reference among inputs and in records."""
    return name if name.endswith(".reference") else f"reference.{name}"
