"""Forced motion of continuous bodies by their modes (Meirovitch 1997).

    u(z, t) = Σ q_i(z) η_i(t),     M_i η̈_i + 2ζ_i ω_i M_i η̇_i + K_i η_i = Σ_k q_i(z_k) f_k + ∫ q_i f dz - r_i ẍ_base

A bending moment m at z works on the slope there, q_i′(z) m. With a moving base the deflection is relative to it
(Genta 2012, app. B, prints the operator of an axial bar here). The static contribution of the modes left out can be
added exactly: the difference between the static flexibility of the continuum and that of the modes is feedthrough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import matrix
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import anything, mapping, vector
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.linear import SecondOrder
from dalembert.structures.continuous.beam_modes import BeamModes

if TYPE_CHECKING:
    from dalembert.structures.continuous.bars import LineModes

Places = Mapping[str, Any] | Sequence[float] | None
Loads = Mapping[str, Callable[[FloatArray], ArrayLike]] | None
Static = Callable[[str, float, str, float], float]

# Quantity: (field, time derivative) at a place along the body.
QUANTITIES = {
    "displacement": ("shape", 0), "velocity": ("shape", 1), "acceleration": ("shape", 2),
    "absolute acceleration": ("shape", 2), "slope": ("slope", 0), "moment": ("moment", 0),
    "shear force": ("shear_force", 0), "force": ("force", 0),
}  # fmt: skip


def named_places(places: Places, prefix: str) -> dict[str, Any]:
    """Names and places; a plain sequence of places is named ``prefix@place``."""
    if places is None:
        return {}
    if isinstance(places, Mapping):
        return dict(places)
    return {f"{prefix}@{z:g}": float(z) for z in vector("n")(f"{prefix} places", places)}


def modal_system(
    modes: BeamModes | LineModes,
    *,
    forces_at: Places = None,
    moments_at: Places = None,
    distributed: Loads = None,
    base: bool = False,
    outputs_at: Places = None,
    quantity: str = "displacement",
    damping: float | Sequence[float] = 0.0,
    static: Static | None = None,
    units: tuple[str, str] = ("m", "N"),
) -> SecondOrder:
    """Modes of a continuous body as a SecondOrder in mass-normalised modal coordinates; see ``Beam.system``."""
    unit_mass = modes.normalise("mass")
    forces, moments = named_places(forces_at, "force"), named_places(moments_at, "moment")
    outputs = {name: _output(name, value, quantity, modes) for name, value in named_places(outputs_at, "u").items()}
    inputs = {**dict.fromkeys(forces, units[1]), **dict.fromkeys(moments, "N m")}
    columns = [unit_mass.shape(z) for z in forces.values()]
    if moments and not isinstance(unit_mass, BeamModes):
        raise DataError("not-supported", "moments act on beams only; give forces_at (torques, for a shaft).")
    columns += [unit_mass.slope(z) for z in moments.values()]
    for name, load in mapping("load", anything)("distributed", distributed).items():
        columns.append(unit_mass.project(load))
        inputs[name] = ""
    if base:
        columns.append(-unit_mass.participation)
        inputs["base"] = f"{units[0]}/s²"
    rows = _rows(unit_mass, outputs)
    through = np.zeros((len(outputs), len(inputs)))
    if base:
        through[[what == "absolute acceleration" for what, _ in outputs.values()], -1] = 1.0
    if static is not None:
        sources = [*(("force", z) for z in forces.values()), *(("moment", z) for z in moments.values())]
        through += _static_rest(unit_mass, outputs, sources, len(inputs), static)
    zeta = _ratios(damping, len(modes))
    names = tuple(f"mode{i + 1}" for i in range(len(modes)))
    read: dict[str, Any] = {**rows, "D": through} if outputs else {}
    return SecondOrder(
        np.eye(len(modes)), np.diag(unit_mass.frequencies**2), C=np.diag(2.0 * zeta * unit_mass.frequencies),
        B=np.stack(columns, axis=1) if columns else None, coordinates=names, inputs=tuple(inputs) or None,
        outputs=tuple(outputs) or None, **read,
        units={**{name: unit for name, unit in inputs.items() if unit}, **_output_units(outputs, units)},
        provenance={**modes.provenance, "modes": len(modes), "statically corrected": static is not None},
    )  # fmt: skip


def _output(name: str, value: Any, quantity: str, modes: BeamModes | LineModes) -> tuple[str, float]:
    """(quantity, place) of an output given as a place or as (place, quantity)."""
    place, what = value if isinstance(value, tuple) else (value, quantity)
    if not isinstance(what, str) or what not in QUANTITIES or not hasattr(modes, QUANTITIES[what][0]):
        known = [name for name, (field, _) in QUANTITIES.items() if hasattr(modes, field)]
        raise DataError("unknown-name", unknown_name("quantity", what, known, f"output {name!r}"))
    return what, float(place)


def _rows(modes: BeamModes | LineModes, outputs: Mapping[str, tuple[str, float]]) -> dict[str, FloatArray]:
    rows = {order: np.zeros((len(outputs), len(modes))) for order in (0, 1, 2)}
    for i, (what, z) in enumerate(outputs.values()):
        field, order = QUANTITIES[what]
        rows[order][i] = getattr(modes, field)(z)
    return {"Y_position": rows[0], "Y_velocity": rows[1], "Y_acceleration": rows[2]}


def _static_rest(
    modes: BeamModes | LineModes, outputs: Mapping[str, tuple[str, float]], sources: Sequence[tuple[str, float]],
    width: int, static: Static,
) -> FloatArray:  # fmt: skip
    if modes.rigid:
        raise DataError(
            "not-held",
            "a body with rigid-body modes has no static flexibility.",
            Advice("Give {}.", Argument("static_correction", False)),
        )
    rest = np.zeros((len(outputs), width))
    for row, (what, z) in enumerate(outputs.values()):
        if what not in ("displacement", "slope"):
            continue
        field = getattr(modes, QUANTITIES[what][0])(z)
        for column, (kind, at) in enumerate(sources):
            load = modes.shape(at) if kind == "force" else modes.slope(at)
            rest[row, column] = static(what, z, kind, at) - field @ (load / modes.frequencies**2)
    return rest


def _ratios(damping: float | Sequence[float], count: int) -> FloatArray:
    zeta = matrix("damping", damping, 1, None, "one ratio, or one per mode", vector="row")[0]
    zeta = zeta if np.ndim(damping) else zeta[0]
    if zeta.ndim > 1 or (zeta.ndim == 1 and len(zeta) != count) or not np.isfinite(zeta).all() or (zeta < 0.0).any():
        raise DataError(
            "wrong-shape", f"damping is one ratio, or one per mode ({count}), none negative; got {damping!r}."
        )
    return np.broadcast_to(zeta, (count,))


def _output_units(outputs: Mapping[str, tuple[str, float]], units: tuple[str, str]) -> dict[str, str]:
    length, force = units
    known = {
        "displacement": length, "velocity": f"{length}/s", "acceleration": f"{length}/s²",
        "absolute acceleration": f"{length}/s²", "slope": "rad" if length == "m" else "rad/m", "moment": "N m",
        "shear force": "N", "force": force,
    }  # fmt: skip
    return {name: known[what] for name, (what, _) in outputs.items()}
