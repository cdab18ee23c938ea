"""Places of sensors and actuators: texts such as ``"-x1.acceleration"`` as coordinates, kinds and signs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.core.arguments import one_of
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.identify.records.checks import find_name
from dalembert.linear.state_space import StateSpace

KINDS = {"position": 0, "displacement": 0, "velocity": 1, "acceleration": 2}
_UNITS = {"": 0, "/s": 1, "/s2": 2}


@dataclass(frozen=True)
class SensorPlace:
    """A channel on a coordinate; ``kind`` 0, 1, 2 for position, velocity, acceleration; sign ±1."""

    channel: str
    coordinate: str
    kind: int
    sign: float


def kind_of_unit(unit: str) -> int | None:
    """0, 1 or 2 for a unit of length or angle, its rate or its second rate; None for others.

    Examples
    --------
    >>> kind_of_unit("m/s²"), kind_of_unit("mm"), kind_of_unit("rad/s"), kind_of_unit("V")
    (2, 0, 1, None)
    """
    text = unit.replace("²", "2").replace("^", "").replace("**", "").replace(" ", "")
    if text in ("g", "gal"):
        return 2
    for stem in ("mm", "rad", "m"):
        if text.startswith(stem) and text[len(stem) :] in _UNITS:
            return _UNITS[text[len(stem) :]]
    return None


def check_forces(system: StateSpace) -> list[Finding]:
    """Refuse inputs that are motions by their unit; a finding where masses would not be in kg (or kg m²)."""
    for name in system.inputs:
        kind = kind_of_unit(system.units.get(name, ""))
        if kind is not None:
            raise DataError(
                "no-force",
                f"input {name!r} is {('a position', 'a velocity', 'an acceleration')[kind]} "
                f"[{system.units[name]}], not a force: its response does not determine masses. Measure a force.",
                Advice(
                    "Or fit a model of known mass with {}.",
                    Call("da.identify.refine_structured"), Call("da.identify.update"),
                ),
                where={"channel": name},
            )  # fmt: skip
    forces = [unit for unit in (system.units.get(name, "") for name in system.inputs) if unit]
    motions = [unit for unit in (system.units.get(name, "") for name in system.outputs) if unit]
    odd = [unit for unit in forces if unit.replace(" ", "").replace("·", "").replace("*", "") not in ("N", "Nm")]
    small = [unit for unit in motions if unit.startswith("mm") or unit in ("g", "gal")]
    if odd or small:
        force, motion = (odd or forces or ["N"])[0], (small or motions or ["m/s^2"])[0]
        stem = next((stem for stem in ("mm", "rad", "m") if motion.startswith(stem)), motion)
        problem = (
            f"inputs in [{force}] and outputs in [{motion}]: masses are in {force}/({_acceleration(stem)}), not in kg, "
            "and damping and stiffness alike. Convert the channels to N and m/s² for SI units."
        )
        return [Finding("not-si-units", problem)]
    return []


def _acceleration(stem: str) -> str:
    return f"{stem}/s^2" if stem in ("mm", "rad", "m") else stem


def read_sensors(
    system: StateSpace, sensors: Mapping[str, str] | Iterable[str] | None, kind: str | None,
    noise: FloatArray | None = None,
) -> tuple[tuple[SensorPlace, ...], str]:  # fmt: skip
    """SensorPlace of every sensor that is used, and a note where the kind was inferred.

    noise : (ny, nu) standard deviations of D, where they are known
    """
    if kind is not None:
        one_of("kind", kind, tuple(KINDS))
    note = ""
    if sensors is None or not isinstance(sensors, Mapping):
        chosen = system.outputs if sensors is None else (sensors,) if isinstance(sensors, str) else tuple(sensors)
        words = dict.fromkeys(chosen, "")
    else:
        words = dict(sensors)
    places = []
    for number, (output, word) in enumerate(words.items(), start=1):
        find_name("output", output, system.outputs, "sensors")
        sign = -1.0 if word.startswith("-") else 1.0
        name, sign_of = _split(word.lstrip("+-"))
        exponent = KINDS[sign_of] if sign_of else None if kind is None else KINDS[kind]
        if exponent is None:
            exponent, reason = _infer_kind(system, output, noise)
            note = note or reason
        places.append(SensorPlace(output, name or (output if exponent == 0 else f"x{number}"), exponent, sign))
    return tuple(places), note


def _split(word: str) -> tuple[str, str]:
    """Coordinate and kind of ``"x1.acceleration"``; an ending that is no kind belongs to the coordinate."""
    stem, _, last = word.rpartition(".")
    return (stem, last) if last in KINDS and stem else (word, "")


def _infer_kind(
    system: StateSpace, output: str, noise: FloatArray | None = None, significant: float = 6.0,
    feedthrough: float = 0.02,
) -> tuple[int, str]:  # fmt: skip
    # significant: standard deviations of it, beyond which it is no noise: 1 in 10^9 by chance.
    # feedthrough: Share of the largest Markov parameter above which feed-through is no noise: only accelerations follow
    # a force within the same sample, with a feed-through of 1/m; noise of 1 % in the parameters leaves half of this.
    kind_by_unit = kind_of_unit(system.units.get(output, ""))
    names = ("positions", "velocities", "accelerations")
    if kind_by_unit is not None:
        return kind_by_unit, f"outputs are {names[kind_by_unit]} by their units"
    pulse = system.markov(20) if system.dt is not None and noise is not None else None
    if pulse is not None and noise is not None:
        clear = np.abs(pulse[0]) > significant * noise
        if (clear & (np.abs(pulse[0]) > feedthrough * np.abs(pulse).max())).any():
            return 2, "outputs are taken for accelerations: they follow the inputs at once, far beyond the noise"
    raise DataError(
        "missing-argument",
        f"it is not known whether output {output!r} is a position, a velocity or an acceleration: it has no unit.",
        Advice("Use {}.", Argument("kind", "acceleration"), Argument("sensors", {output: "x1.velocity"})),
        where={"channel": output},
    )


def read_actuators(system: StateSpace, actuators: Mapping[str, str] | None) -> dict[str, tuple[str, float]]:
    """Coordinate and sign by input name."""
    result = {}
    for name, word in (actuators or {}).items():
        find_name("input", name, system.inputs, "actuators")
        result[name] = (word.lstrip("+-"), -1.0 if word.startswith("-") else 1.0)
    return result


def read_pairs(
    system: StateSpace, colocated: tuple[str, str] | Iterable[tuple[str, str]] | None
) -> tuple[tuple[str, str], ...]:
    """(output, input) pairs, each known."""
    if colocated is None:
        return ()
    listed = (colocated,) if isinstance(colocated, str) else tuple(colocated)
    flat = len(listed) == 2 and all(isinstance(word, str) for word in listed)
    pairs = (listed,) if flat else listed
    result = []
    for pair in pairs:
        if isinstance(pair, str) or len(tuple(pair)) != 2:
            raise DataError(
                "wrong-shape", f"colocated must be a pair (output, input) or several of them, got {colocated!r}."
            )
        output, actuator = (str(name) for name in pair)
        find_name("output", output, system.outputs, "colocated")
        find_name("input", actuator, system.inputs, "colocated")
        result.append((output, actuator))
    return tuple(result)
