"""A mechanical model M, C, K from an identified state space (De Angelis, Lus, Betti and Longman 2002).

Needed: as many coordinates as pairs of poles, each with a sensor or an actuator, one of them with both, and every mode
underdamped. What is more or less than that is refused in words, because the matrices would not be unique.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.identify.model.identified import Identified
from dalembert.identify.physical import mass_stiffness as mkr
from dalembert.identify.physical.proportional_damping import proportional_damping
from dalembert.identify.physical.sensor_places import Place, check_forces, read_actuators, read_pairs, read_sensors
from dalembert.identify.records.data import IdentificationWarning
from dalembert.linear.responses.modal import modal_damping
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace

Damping = Literal["identified", "proportional", "modal"]
# A mode whose motion where it is driven is below this part of its motion elsewhere cannot be scaled.
UNSEEN = 1e-7
# Poles nearer than this, relative, have shapes that are not told apart.
REPEATED = 1e-9
# Change of a damping ratio, relative, between the identified modes and the matrices that calls for a warning.
INCONGRUOUS = 0.5
# Distance of two eigenvalues over their decay rate below which shapes are not told apart.
CLOSE = 0.1


@dataclass(frozen=True)
class _Case:
    """One choice of the co-located pairs, and what comes of it."""

    pairs: tuple[tuple[str, str], ...]
    W: ComplexArray
    T: ComplexArray
    M: FloatArray
    K: FloatArray
    R: FloatArray
    sign: float
    inconsistency: tuple[float, float]

    @property
    def mechanical(self) -> bool:
        """Whether mass and stiffness are positive definite."""
        return bool(np.linalg.eigvalsh(self.M)[0] > 0.0 and np.linalg.eigvalsh(self.K)[0] > 0.0)


def physical(
    fit: Identified | StateSpace,
    *,
    kind: str | None = None,
    sensors: Mapping[str, str] | Iterable[str] | None = None,
    actuators: Mapping[str, str] | None = None,
    colocated: tuple[str, str] | Iterable[tuple[str, str]] | None = None,
    damping: Damping = "identified",
) -> SecondOrder:
    """Mass, damping and stiffness matrices in the coordinates of the sensors.

    Parameters
    ----------
    fit : Identified or StateSpace (sampled with a zero-order hold, or continuous)
        Of even order, all poles in pairs.
    kind : "acceleration", "velocity" or "position", optional
        What the sensors measure; from their units when left out, or acceleration where there is feed-through.
    sensors : mapping of outputs to places, or names of outputs, optional
        ``{"a1": "x1.acceleration", "s": "-x2.velocity"}``: coordinate, kind, a minus where the sensor points the other
        way. All outputs on coordinates x1, x2, ... when left out.
    actuators : mapping of inputs to coordinates, optional
        ``{"force": "x1"}``. A coordinate may have an actuator only. The place of an input that is not named is found.
    colocated : (output, input), or several, optional
        Sensor and actuator on the same coordinate; follows from ``actuators`` too. Found when left out: the pair for
        which mass and stiffness are positive definite and the consistency condition is met best.
    damping : "identified", "proportional" or "modal"
        C of the complex modes; or α M + β K fitted to the damping ratios (for lightly damped noisy data); or the
        identified ratios on the modes of M and K.

    Returns
    -------
    SecondOrder
        Inputs and outputs as in ``fit``; its ``modes()`` are mass-normalised. ``provenance["notes"]`` says what was
        decided: kinds, pair, signs, consistency. If the co-located sensor and force have opposite signs the mass would
        be negative; then the sign of all sensors is turned and the notes say so.

    Raises
    ------
    DataError
        Real poles, odd order, another number of coordinates than of modes, no co-located pair, no mechanical model.

    Examples
    --------
    >>> frame = SecondOrder(np.diag([2.0, 1.0]), [[300.0, -100.0], [-100.0, 100.0]], C=[[0.4, -0.1], [-0.1, 0.1]],
    ...                     B=[1, 0], Y_acceleration=np.eye(2), inputs="force", outputs=["a1", "a2"])
    >>> again = physical(frame.state_space().to_discrete(0.02), kind="acceleration")
    >>> again.M.round(9).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    system = fit.system if isinstance(fit, Identified) else fit
    if not isinstance(system, StateSpace):
        raise DataError(f"physical needs an Identified or a StateSpace, got {type(fit).__name__}.")
    if damping not in ("identified", "proportional", "modal"):
        raise DataError(f"damping must be 'identified', 'proportional' or 'modal', not {damping!r}.")
    if not system.nu:
        raise DataError(
            "a model without inputs (ambient or free-decay data) tells shapes but not masses: no M, C, K. Measure a "
            "force, or update a model of known mass against the modes."
        )
    triple = mkr.modal_triple(system.A, system.B, system.C, system.dt)
    _refuse_poles(system, triple)
    check_forces(system)
    _warn_of_close_modes(triple.eigenvalues)
    places, note = read_sensors(system, sensors, kind)
    drives = read_actuators(system, actuators)
    pairs = read_pairs(system, colocated)
    coordinates = _coordinates(places, drives, pairs, len(triple.eigenvalues))
    seen = _seen(system, triple, places)
    case, chosen = _chosen(system, triple, places, seen, drives, pairs, coordinates)
    notes = [text for text in (note, chosen) if text] + _remarks(case)
    return _assembled(system, triple, places, drives, coordinates, case, damping, notes)


# ---- what is refused or doubtful


def _warn_of_close_modes(eigenvalues: ComplexArray) -> None:
    """Modes nearer to each other than their own bandwidth: noise mixes their shapes, and M, C, K are made of shapes."""
    lam = eigenvalues[np.argsort(eigenvalues.imag)]
    width = np.minimum(np.abs(lam.real[1:]), np.abs(lam.real[:-1]))
    close = np.flatnonzero(np.abs(np.diff(lam)) < CLOSE * width)
    if len(close):
        pair = [f"{abs(lam[close[0] + k]) / (2.0 * np.pi):.5g}" for k in (0, 1)]
        warnings.warn(
            f"the modes at {pair[0]} and {pair[1]} Hz are much closer than their damping is wide: noise mixes their "
            "shapes, and M, C, K with them. Check them against the record, or fit a structured model "
            "(refine_structured).",
            IdentificationWarning,
            stacklevel=3,
        )


def _refuse_poles(system: StateSpace, triple: mkr.ModalTriple) -> None:
    if len(triple.real):
        shown = ", ".join(f"{value.real:.4g}" for value in triple.real[:4])
        odd = f"order {system.nx} is odd: " if system.nx % 2 else ""
        raise DataError(
            f"{odd}{len(triple.real)} poles are in no conjugate pair (rates {shown} 1/s): overdamped modes have no "
            "place in M, C, K found this way. Choose the order so that all modes oscillate."
        )
    lam = triple.eigenvalues
    gaps = np.abs(lam[:, None] - lam[None, :]) + np.diag(np.full(len(lam), np.inf))
    if len(lam) > 1 and gaps.min() < REPEATED * np.abs(lam).max():
        raise DataError("two modes have the same pole: their shapes cannot be told apart, nor M, C, K from them.")


def _coordinates(
    places: tuple[Place, ...], drives: Mapping[str, tuple[str, float]], pairs: tuple[tuple[str, str], ...], count: int
) -> tuple[str, ...]:
    names = dict.fromkeys(place.coordinate for place in places)
    names |= dict.fromkeys(coordinate for coordinate, _ in drives.values())
    channels = {place.channel for place in places}
    for output, _ in pairs:
        if output not in channels:
            raise DataError(f"the co-located output {output!r} is not among the sensors used.")
    if len(names) == count:
        return tuple(names)
    shown = ", ".join(names) or "none"
    if len(names) < count:
        raise DataError(
            f"{count} modes need {count} coordinates, each with a sensor or an actuator; there are {len(names)} "
            f"({shown}). Use a model of order {2 * len(names)}, or more sensors."
        )
    raise DataError(
        f"{len(names)} coordinates ({shown}) but only {count} modes: their mass matrix would be singular. Use a model "
        f"of order {2 * len(names)}, or sensors=[...] with {count} of the outputs."
    )


# ---- shapes


def _seen(system: StateSpace, triple: mkr.ModalTriple, places: tuple[Place, ...]) -> ComplexArray:
    """Positions at the sensors in every mode, in the scale of the eigenvectors, (sensors, n)."""
    rows = [system.outputs.index(place.channel) for place in places]
    powers = np.array([triple.eigenvalues ** float(-place.kind) for place in places])
    signs = np.array([place.sign for place in places])
    return np.asarray(signs[:, None] * triple.outputs[rows] * powers)


def _chosen(
    system: StateSpace, triple: mkr.ModalTriple, places: tuple[Place, ...], seen: ComplexArray,
    drives: Mapping[str, tuple[str, float]], pairs: tuple[tuple[str, str], ...], coordinates: tuple[str, ...],
) -> tuple[_Case, str]:  # fmt: skip
    """The co-located pairs as told, or those that make a mechanical model."""
    told = dict.fromkeys(pairs)
    for name, (coordinate, _) in drives.items():
        told |= dict.fromkeys((place.channel, name) for place in places if place.coordinate == coordinate)
    if told:
        case = _case(system, triple, places, seen, drives, tuple(told), coordinates)
        _refuse_unmechanical(case)
        return case, ""
    if len({place.coordinate for place in places}) < len(coordinates):
        raise DataError(
            "no coordinate has both a sensor and an actuator: the scale of the masses is not told. Move one sensor to "
            "where a force acts, and name it: colocated=(output, input)."
        )
    cases = []
    for place in places:
        for name in system.inputs:
            try:
                cases.append(_case(system, triple, places, seen, drives, ((place.channel, name),), coordinates))
            except (DataError, np.linalg.LinAlgError):
                continue
    fitting = sorted((case for case in cases if case.mechanical), key=lambda case: case.inconsistency[1])
    if not fitting:
        raise DataError(
            "no pair of an output and an input, taken as co-located, gives positive definite mass and stiffness: the "
            "forces act where there is no sensor, or the model is poor. Name the pair: colocated=(output, input), "
            "or several, [(output, input), ...], where one does not move in all modes (uncoupled directions)."
        )
    output, name = fitting[0].pairs[0]
    others = "" if len(fitting) == 1 else f", and the consistency of all {len(fitting)} that do is met best"
    return fitting[0], (
        f"{output} and {name} are taken as co-located: with them mass and stiffness are positive definite{others}"
    )


def _case(
    system: StateSpace, triple: mkr.ModalTriple, places: tuple[Place, ...], seen: ComplexArray,
    drives: Mapping[str, tuple[str, float]], pairs: tuple[tuple[str, str], ...], coordinates: tuple[str, ...],
) -> _Case:  # fmt: skip
    channels = [place.channel for place in places]
    rows = [channels.index(output) for output, _ in pairs]
    columns = [system.inputs.index(name) for _, name in pairs]
    signs = np.array([drives.get(name, ("", 1.0))[1] for _, name in pairs])
    at_pairs, driven = seen[rows], signs * triple.inputs[:, columns]
    _refuse_unseen(triple, seen, at_pairs, driven, pairs)
    T = np.sqrt(mkr.scale_factors(at_pairs, driven))
    W = _shapes(system, triple, places, seen, drives, coordinates, pairs, T)
    M, K, R = mkr.second_order_matrices(W, triple.eigenvalues)
    sign = -1.0 if np.linalg.eigvalsh(M)[-1] < 0.0 else 1.0
    if sign < 0.0:  # sensors turned round: W → i W, and every matrix changes its sign
        W, T, M, K, R = 1j * W, -1j * T, -M, -K, -R
    return _Case(pairs, W, T, M, K, R, sign, mkr.inconsistency(W))


def _shapes(
    system: StateSpace, triple: mkr.ModalTriple, places: tuple[Place, ...], seen: ComplexArray,
    drives: Mapping[str, tuple[str, float]], coordinates: tuple[str, ...], pairs: tuple[tuple[str, str], ...],
    T: ComplexArray,
) -> ComplexArray:  # fmt: skip
    """W (n, n): the mean of what every sensor and every placed actuator says of a coordinate."""
    W = np.zeros((len(coordinates), len(T)), dtype=np.complex128)
    count = np.zeros(len(coordinates))
    where = {place.channel: place.coordinate for place in places}
    acting = {name: coordinate for name, (coordinate, _) in drives.items()}
    acting |= {name: where[output] for output, name in pairs}
    for place, row in zip(places, seen, strict=True):
        i = coordinates.index(place.coordinate)
        W[i] += row * T
        count[i] += 1
    for name, coordinate in acting.items():
        i = coordinates.index(coordinate)
        W[i] += drives.get(name, ("", 1.0))[1] * triple.inputs[:, system.inputs.index(name)] / T
        count[i] += 1
    return np.asarray(W / count[:, None])


def _refuse_unseen(
    triple: mkr.ModalTriple, seen: ComplexArray, at_pairs: ComplexArray, driven: ComplexArray, pairs: Any
) -> None:
    motion = np.linalg.norm(at_pairs, axis=0) / np.linalg.norm(seen, axis=0)
    push = np.linalg.norm(driven, axis=1) / np.maximum(np.linalg.norm(triple.inputs, axis=1), np.finfo(float).tiny)
    bad = np.flatnonzero(~((motion > UNSEEN) & (push > UNSEEN)))
    if bad.size:
        hertz = abs(triple.eigenvalues[bad[0]]) / (2.0 * np.pi)
        shown = ", ".join(f"{output} with {name}" for output, name in pairs)
        raise DataError(
            f"the mode at {hertz:.5g} Hz has a node where sensor and actuator are co-located ({shown}): its scale is "
            "not told. Use another co-located pair."
        )


def _refuse_unmechanical(case: _Case) -> None:
    masses = np.linalg.eigvalsh(case.M)
    if masses[0] <= 0.0:
        shown = ", ".join(f"{value:.4g}" for value in masses)
        pairs = ", ".join(f"{output} with {name}" for output, name in case.pairs)
        raise DataError(
            f"the mass matrix is not positive definite (eigenvalues {shown}) with {pairs} as co-located. Check the "
            "pair, the kind and the sign of the sensors ('-x1.acceleration'), or the order of the model."
        )


# ---- the model


def _remarks(case: _Case) -> list[str]:
    notes = []
    if case.sign < 0.0:
        notes.append("sensors and forces have opposite signs: the sign of every sensor was turned, else M is negative")
    most, relative = case.inconsistency
    notes.append(f"consistency: largest entry of W Wᵀ {most:.3g}, relative {relative:.2g} (0 for exact data)")
    stiff = np.linalg.eigvalsh(case.K)
    if stiff[0] <= 0.0:
        notes.append(f"the stiffness matrix is not positive definite (lowest eigenvalue {stiff[0]:.4g})")
    return notes


def _assembled(
    system: StateSpace, triple: mkr.ModalTriple, places: tuple[Place, ...], drives: Mapping[str, tuple[str, float]],
    coordinates: tuple[str, ...], case: _Case, damping: str, notes: list[str],
) -> SecondOrder:  # fmt: skip
    lam = triple.eigenvalues
    B = np.zeros((len(coordinates), system.nu))
    where = {place.channel: place.coordinate for place in places}
    acting = {name: (where[output], 1.0) for output, name in case.pairs} | dict(drives)
    for j, name in enumerate(system.inputs):
        if name in acting:
            coordinate, sign = acting[name]
            B[coordinates.index(coordinate), j] = sign
        else:  # Wᵀ B₂ = T⁻¹ Ψ⁻¹ B_c, solved by M W Λ (W Λ Wᵀ = M⁻¹)
            B[:, j] = case.M @ (2.0 * ((case.W * lam) @ (triple.inputs[:, j] / case.T)).real)
            notes.append(f"forces of input {name} on the coordinates were found, not given")
    reads = {name: np.zeros((len(places), len(coordinates))) for name in ("position", "velocity", "acceleration")}
    for i, place in enumerate(places):
        key = ("position", "velocity", "acceleration")[place.kind]
        reads[key][i, coordinates.index(place.coordinate)] = place.sign * case.sign
    outputs = [place.channel for place in places]
    free = set(coordinates)
    made = SecondOrder(
        case.M, case.K, C=case.R, B=B, **{f"Y_{key}": value for key, value in reads.items()}, coordinates=coordinates,
        inputs=system.inputs, outputs=outputs,
        units={k: v for k, v in system.units.items() if k in (*system.inputs, *outputs) and k not in free},
        provenance={"method": "MKR", "from": dict(system.provenance), "inconsistency": case.inconsistency[0]},
    )  # fmt: skip
    made, more = _damped(made, lam, damping)
    told = tuple(notes + more)
    return made.replace(provenance={**made.provenance, "notes": told, "co-located": case.pairs, "sign": case.sign})


def _damped(made: SecondOrder, lam: ComplexArray, damping: str) -> tuple[SecondOrder, list[str]]:
    """The model with the damping that was asked for, and notes; warns where C contradicts the identified ratios."""
    omega, zeta = np.abs(lam), -lam.real / np.abs(lam)
    if damping == "proportional":
        law = proportional_damping(omega, zeta)
        C = law.alpha * made.M + law.beta * made.K
        changed = made.replace(C=C, provenance={**made.provenance, "alpha": law.alpha, "beta": law.beta})
        worst = float(np.abs(law.residuals).max())
        return changed, [
            f"damping is alpha M + beta K, alpha = {law.alpha:.5g} 1/s, beta = {law.beta:.5g} s, fitted to the "
            f"identified ratios to {worst:.2g}"
        ]
    if damping == "modal":
        return made.replace(C=modal_damping(made.replace(C=None), zeta)), ["damping has the identified ratios by mode"]
    modes = made.modes()
    pairs = modes.eigenvalues[modes.eigenvalues.imag > 0.0]
    found = -pairs.real / np.abs(pairs)
    if len(found) == len(zeta):
        change = float(np.max(np.abs(found - zeta) / np.maximum(np.abs(zeta), 1e-12)))
        if change < INCONGRUOUS:
            return made, [f"damping ratios of the matrices are those of the modes to {100 * change:.2g} %"]
    shown = ", ".join(f"{value:.3g}" for value in found)
    meant = ", ".join(f"{value:.3g}" for value in zeta)
    text = f"the damping matrix gives ratios {shown} where the modes have {meant}"
    warnings.warn(
        f"{text}: complex shapes of lightly damped modes are mostly noise. Use damping='proportional' or 'modal'.",
        IdentificationWarning,
        stacklevel=4,
    )
    return made, [text]
