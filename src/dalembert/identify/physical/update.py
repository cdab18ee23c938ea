"""Parameters of a linear model from identified modes (sensitivity method; Mottershead, Link and Friswell 2011).

    minimise  Σ (ln(ω/ω̂)/σ_f)² + Σ ‖n - n̂‖²/σ_s² + Σ ((ζ - ζ̂)/σ_ζ)² + Σ ((p - p₀)/(p₀ σ_p))²

ω, n, ζ: frequency, shape at the measured coordinates (unit length, its sign that of the measured one), damping ratio
φᵀCφ/2ω of the model's undamped mode that resembles the measured one most; paired anew by MAC in every iteration.
Gauss-Newton with Levenberg's damping; derivatives of the modes are exact (`mode_derivatives`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.progress import Progress, Setting
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.model.identified import Identified
from dalembert.identify.physical.mode_search import ModeSearch, Target
from dalembert.identify.physical.updated import Updated
from dalembert.identify.structured.parametric_system import Model, ParametricSystem
from dalembert.linear.modes import Modes

# Standard deviations where none are given, as careful modal tests reach them: frequencies 1 %, shapes of unit length
# 0.1, damping ratios 10 %.
FREQUENCY_DEVIATION, SHAPE_DEVIATION, DAMPING_DEVIATION = 0.01, 0.1, 0.1


def update(
    model: Model,
    modes: Modes | Identified,
    parameters: Sequence[str] | Mapping[str, float],
    *,
    coordinates: Mapping[str, str] | Sequence[str] | None = None,
    shapes: bool = True,
    damping: bool = False,
    deviations: Mapping[str, ArrayLike] | None = None,
    prior: float | Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    count: int | None = None,
    progress: Setting = None,
) -> Updated:
    """Bring chosen parameters of a model into agreement with measured modes.

    Parameters
    ----------
    model : function of the parameters, as keywords, that returns a SecondOrder or a Structure; or an :class:`Affine`
        family; or equations of motion, linearized about their equilibrium
    modes : Modes, or an identified model
        Frequencies (undamped), damping ratios, shapes at named coordinates. Modes that do not oscillate are left out.
    parameters : names with first values; for equations of motion names suffice
    coordinates : mapping of measured coordinates to coordinates or outputs of the model, or some measured coordinates
        All measured ones, by their own names, when left out.
    shapes : whether shapes count; they serve to pair modes in any case
    damping : whether damping ratios count
    deviations : mapping with "frequencies" [Hz], "shapes" (of shapes of unit length), "damping" (ratios), optional
        Standard deviations, a number or one per mode. An identified model brings those it knows. Without any the fit
        takes 1 %, 0.1 and 10 %, and the parameters have no deviations.
    prior : relative standard deviation of the first values, of all or by name, optional
        Keeps parameters near their first values where the modes do not determine them.
    bounds : mapping of a parameter to (low, high), optional
        Parameters with a positive first value stay positive by themselves.
    count : number of modes of the model to choose from, optional

    Returns
    -------
    Updated

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> def chain(k1, k2):
    ...     return SecondOrder(np.eye(2), [[k1 + k2, -k2], [-k2, k2]], coordinates=["a", "b"])
    >>> result = update(chain, chain(k1=120.0, k2=80.0).modes(), {"k1": 100.0, "k2": 100.0})
    >>> result.values.round(6).tolist()
    [120.0, 80.0]
    """
    names, first = _parameters(model, parameters)
    low, high = _bounds(names, first, bounds)
    target = _target(modes, coordinates, deviations, shapes, damping)
    family = ParametricSystem(model, names, first, target.coordinates)
    search = ModeSearch(family, target, first, low, high, _prior(names, prior), count)
    with Progress(progress, "update") as bar:
        status = search.run(bar)
    return search.report(model, status, known=target.known)


# ---- arguments


def _parameters(model: Model, given: Sequence[str] | Mapping[str, float]) -> tuple[list[str], Array]:
    if isinstance(given, Mapping):
        names, values = list(given), [float(v) for v in given.values()]
    elif isinstance(model, EquationsOfMotion):
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            if name not in model.parameters.index:
                raise ModelError(
                    "unknown-name", unknown_name("parameter", name, model.parameters.names, f"equations {model.name!r}")
                )
        values = [float(model.p[model.parameters.index[name]]) for name in names]
    else:
        raise DataError(
            "missing-argument", "the parameters need first values.",
            Advice("Give them by name: {}.", Argument("parameters", {"E": 210e9, "k": 1e6})),
        )  # fmt: skip
    if not names:
        raise DataError("empty", "parameters is empty: name at least one parameter to update.")
    first = np.array(values)
    if not np.isfinite(first).all():
        raise DataError("not-finite", "first values of the parameters must be finite.")
    return names, first


def _bounds(names: list[str], first: Array, given: Mapping[str, tuple[float, float]] | None) -> tuple[Array, Array]:
    low = np.where(first > 0, 1e-6 * first, -np.inf)
    high = np.where(first < 0, 1e-6 * first, np.inf)
    for name, pair in (given or {}).items():
        if name not in names:
            raise DataError("unknown-name", unknown_name("parameter", name, names, "bounds"))
        k = names.index(name)
        low[k], high[k] = float(pair[0]), float(pair[1])
        if not low[k] < high[k]:
            raise DataError("out-of-range", f"bounds of {name!r}: {low[k]:g} is not below {high[k]:g}.")
        if not low[k] <= first[k] <= high[k]:
            raise DataError(
                "out-of-range",
                f"the first value {first[k]:g} of {name!r} is outside its bounds ({low[k]:g}, {high[k]:g}).",
            )
    return low, high


def _prior(names: list[str], given: float | Mapping[str, float] | None) -> Array:
    if given is None:
        return np.full(len(names), np.inf)
    if not isinstance(given, Mapping):
        given = dict.fromkeys(names, given)
    result = np.full(len(names), np.inf)
    for name, value in given.items():
        if name not in names:
            raise DataError("unknown-name", unknown_name("parameter", name, names, "prior"))
        if not float(value) > 0:
            raise DataError("not-positive", f"prior of {name!r} must be a positive relative deviation, got {value!r}.")
        result[names.index(name)] = float(value)
    return result


def _target(
    modes: Modes | Identified, coordinates: Mapping[str, str] | Sequence[str] | None,
    deviations: Mapping[str, ArrayLike] | None, shapes: bool, damping: bool,
) -> Target:  # fmt: skip
    given = dict(deviations or {})
    for name in given:
        if name not in ("frequencies", "shapes", "damping"):
            kinds = ("frequencies", "shapes", "damping")
            raise DataError("unknown-argument", unknown_name("kind", name, kinds, "deviations"))
    if isinstance(modes, Identified):
        for name, own in (("frequencies", modes.frequency_deviations), ("damping", modes.damping_deviations)):
            if own is not None:
                given.setdefault(name, own)
        modes = modes.modes()
    if not isinstance(modes, Modes):
        raise DataError("wrong-type", f"modes must be Modes or an Identified, got {type(modes).__name__}.")
    chosen = np.flatnonzero(modes.eigenvalues.imag > 0)
    if not len(chosen):
        raise DataError("overdamped", "none of the measured modes oscillates: there is no frequency to compare.")
    k = len(chosen)
    names = _coordinates(modes.coordinates, coordinates)
    rows = [modes.coordinates.index(name) for name in names]
    columns = _real(modes.shapes[rows][:, chosen])
    hertz = modes.frequencies_hz[chosen]
    zeta = modes.damping_ratios[chosen]

    def spread(name: str, default: Array) -> Array:
        value = np.asarray(given.get(name, default), dtype=float)
        if value.shape not in ((), (k,)) or not (np.isfinite(value).all() and (value > 0).all()):
            raise DataError(
                "wrong-shape", f"deviations of {name} must be positive, one number or one per oscillating mode ({k})."
            )
        return np.broadcast_to(value, (k,)).copy()

    counted = ["frequencies", *(["shapes"] if shapes and len(rows) > 1 else []), *(["damping"] if damping else [])]
    return Target(
        2 * np.pi * hertz, columns, zeta, names, spread("frequencies", FREQUENCY_DEVIATION * hertz) / hertz,
        spread("shapes", np.asarray(SHAPE_DEVIATION)),
        spread("damping", DAMPING_DEVIATION * np.maximum(np.abs(zeta), 1e-4)),
        shapes and len(rows) > 1, damping, all(name in given for name in counted),
    )  # fmt: skip


def _coordinates(known: tuple[str, ...], given: Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    pairs = {n: n for n in known} if given is None else (
        {str(a): str(b) for a, b in given.items()} if isinstance(given, Mapping)
        else {n: n for n in ([given] if isinstance(given, str) else given)}
    )  # fmt: skip
    for name in pairs:
        if name not in known:
            raise DataError("unknown-name", unknown_name("measured coordinate", name, known, "the modes"))
    return pairs


def _real(shapes: ArrayLike) -> Array:
    """Real unit columns: each times the phase factor that makes its imaginary part smallest."""
    columns = np.asarray(shapes, dtype=np.complex128)
    angle = 0.5 * np.angle((columns * columns).sum(axis=0))
    real = (columns * np.exp(-1j * angle)).real
    size = np.linalg.norm(real, axis=0)
    if not (size > 0).all():
        raise DataError(
            "node", f"measured mode {int(np.argmin(size)) + 1} does not move any of the chosen coordinates."
        )
    return np.asarray(real / size)
