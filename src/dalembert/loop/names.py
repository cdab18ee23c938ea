"""Names of channels in a loop: those of the machine, of a model linearized from it, of a record."""

from __future__ import annotations

from dalembert.equations import EquationsOfMotion
from dalembert.linear import StateSpace

# how names are made of others, also where users type them
_RATE, _REFERENCE = ".rate", ".reference"


def rate_names(model: StateSpace) -> dict[str, str]:
    """Names of rates in a machine -> their names in a model linearized from it."""
    return {rate: rate_name(name) for name, rate in model.provenance.get("rates", {}).items()}


def machine_name(eqs: EquationsOfMotion, name: str) -> str:
    """The channel meant: shorthands, and "A.angle.rate" as linear models call the rate of the measure A.angle."""
    full = eqs.full_name(name)
    known = any(full in group.index for group in (eqs.measures, eqs.measure_rates, eqs.coordinates, eqs.speeds,
                                                  eqs.internal, eqs.outputs, eqs.inputs))  # fmt: skip
    rates: dict[str, str] = {} if known else eqs.cache("rates of measures", lambda: _measure_rates(eqs))
    return rates.get(full, full)


def _measure_rates(eqs: EquationsOfMotion) -> dict[str, str]:
    """Rates of measures as linear models call them -> as the machine calls them."""
    measures = {**{name: name for name in eqs.measures.names}, **eqs.shorthands}
    places = {name: eqs.measures.index[full] for name, full in measures.items() if full in eqs.measures.index}
    return {rate_name(name): eqs.measure_rates.names[k] for name, k in places.items()}


def rate_name(name: str) -> str:
    """The rate of a coordinate, as linear models call it."""
    return f"{name}{_RATE}"


def reference_name(output: str) -> str:
    """The reference of an output, as laws that follow outputs call it."""
    return f"{output}{_REFERENCE}"


def followed_output(reference: str) -> str | None:
    """The output that a reference belongs to; none of a reference with a name of its own."""
    return reference.removesuffix(_REFERENCE) if reference.endswith(_REFERENCE) else None


def reference_channel(name: str) -> str:
    """The channel of a reference among inputs and in records."""
    return f"reference.{name}" if followed_output(name) is None else name
