"""A mechanical model M, C, K from an identified state space (De Angelis, Lus, Betti and Longman 2002).

Needed: as many coordinates as pairs of poles, each with a sensor or an actuator, one of them with both, and every mode
underdamped. Everything else is refused, because the matrices would not be unique.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dalembert.core.arguments import one_of
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import instance
from dalembert.core.errors import DalembertError, DataError, require_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.identify.model.identified import HoldsIdentified, Identified, take_identified
from dalembert.identify.physical import mass_stiffness as mkr
from dalembert.identify.physical.proportional_damping import proportional_damping
from dalembert.identify.physical.sensor_places import (
    SensorPlace,
    check_forces,
    read_actuators,
    read_pairs,
    read_sensors,
)
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.linear.responses.modal import modal_damping
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace

Damping = Literal["identified", "proportional", "modal"]
FORMS: tuple[Damping, ...] = ("proportional", "modal", "identified")
SUPPORTED: tuple[Damping, ...] = ("modal", "identified")  # forms that any data may support, the simpler first


Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Setup:
    """A system with its modes, and where its sensors and actuators are.

    seen : (sensors, n), positions at the sensors in every mode, in the scale of the eigenvectors; drives : coordinate
    and sign by input, where given.
    """

    system: StateSpace
    triple: mkr.ModalTriple
    places: tuple[SensorPlace, ...]
    seen: ComplexArray
    drives: Mapping[str, tuple[str, float]]
    coordinates: tuple[str, ...]

    def sign(self, name: str) -> float:
        """Sign of an input on its coordinate."""
        return self.drives.get(name, ("", 1.0))[1]

    def coordinate_of(self, output: str) -> str:
        """Coordinate of a sensor."""
        return next(place.coordinate for place in self.places if place.channel == output)


@dataclass(frozen=True)
class _Case:
    """One choice of the co-located pairs, and its matrices."""

    pairs: Pairs
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
    fit: Identified | HoldsIdentified | StateSpace, *, kind: str | None = None,
    sensors: Mapping[str, str] | Iterable[str] | None = None, actuators: Mapping[str, str] | None = None,
    colocated: tuple[str, str] | Iterable[tuple[str, str]] | None = None, damping: Damping | None = None,
) -> SecondOrder:  # fmt: skip
    """Mass, damping and stiffness matrices in the coordinates of the sensors.

    Parameters
    ----------
    fit : Identified or StateSpace (sampled with a zero-order hold, or continuous)
        Of even order, all poles in pairs.
    kind : "acceleration", "velocity" or "position", optional
        Quantity of the sensors; from their units when left out, or acceleration where there is feed-through.
    sensors : mapping of outputs to places, or names of outputs, optional
        ``{"a1": "x1.acceleration", "s": "-x2.velocity"}``: coordinate, kind, a minus where the sensor points the other
        way. All outputs on coordinates x1, x2, ... when left out.
    actuators : mapping of inputs to coordinates, optional
        ``{"force": "x1"}``. A coordinate may have an actuator only. The place of an input that is not named is found.
    colocated : (output, input), or several, optional
        Sensor and actuator on the same coordinate; follows from ``actuators`` too. Found when left out: the pair for
        which mass and stiffness are positive definite and the consistency condition is met best.
    damping : "identified", "proportional" or "modal", optional
        C of the complex modes; or α M + β K fitted to the damping ratios (for lightly damped noisy data); or the
        identified ratios on the modes of M and K. When left out the form that the data support: modal where its
        response is as near to that of ``fit`` as that of the identified form.

    Returns
    -------
    SecondOrder
        Inputs and outputs as in ``fit``; its ``modes()`` are mass-normalised. ``provenance["notes"]`` lists the
        decisions: kinds, pair, signs, consistency. If the co-located sensor and force have opposite signs the mass
        would be negative; then the sign of all sensors is changed, with a note.

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
    model: Identified | StateSpace = instance(Identified, StateSpace)("fit", take_identified(fit))
    system = model.system if isinstance(model, Identified) else model
    if damping is not None:
        one_of("damping", damping, FORMS)
    if not system.nu:
        raise DataError(
            "no-force",
            "a model without inputs (ambient or free-decay data) determines shapes but not masses: no M, C, K. Measure "
            "a force.",
            Advice("Or update a model of known mass with {}.", Call("da.identify.update")),
        )
    triple = mkr.modal_triple(system.A, system.B, system.C, system.dt)
    _refuse_poles(system, triple)
    IdentificationWarning.report([*check_forces(system), *_find_close_modes(triple.eigenvalues)])
    places, note = read_sensors(system, sensors, kind, _measure_feedthrough_noise(model))
    drives = read_actuators(system, actuators)
    pairs = read_pairs(system, colocated)
    coordinates = _coordinates(places, drives, pairs, len(triple.eigenvalues))
    setup = _Setup(system, triple, places, _find_positions(system, triple, places), drives, coordinates)
    case, chosen = _choose_case(setup, pairs)
    notes = [text for text in (note, chosen) if text] + _remarks(case)
    assembled = _assemble(setup, case, notes)
    chosen_form = damping or _choose_damping(assembled, triple.eigenvalues, system)
    assembled, more, findings = _set_damping(assembled, triple.eigenvalues, chosen_form)
    if damping is None:
        more = [f"damping: the {chosen_form} form, the simplest that the identified response supports", *more]
    IdentificationWarning.report(findings)
    details = {"notes": (*notes, *more), "co-located": case.pairs, "sign": case.sign}
    return assembled.replace(provenance={**assembled.provenance, **details})


# ---- errors and findings


def _measure_feedthrough_noise(fit: Identified | StateSpace) -> FloatArray | None:
    """(ny, nu) standard deviations of D: noise of the outputs over the inputs and the root of their samples."""
    if not isinstance(fit, Identified) or fit.innovation is None or "input levels" not in fit.provenance:
        return None
    levels = np.maximum(np.array(fit.provenance["input levels"], dtype=np.float64), 1e-300)
    size = np.sqrt(np.maximum(np.diag(fit.innovation), 0.0) / max(int(fit.provenance["columns"]), 1))
    return size[:, None] / levels


def _find_close_modes(eigenvalues: ComplexArray, closeness: float = 0.1) -> list[Finding]:
    """Modes nearer to each other than their own bandwidth: noise mixes their shapes, and M, C, K are made of shapes.

    closeness : distance of two eigenvalues over their decay rate: shapes of two modes at a tenth of their width differ
    by a tenth in one record, and noise of some percent mixes them
    """
    lam = eigenvalues[np.argsort(eigenvalues.imag)]
    width = np.minimum(np.abs(lam.real[1:]), np.abs(lam.real[:-1]))
    close = np.flatnonzero(np.abs(np.diff(lam)) < closeness * width)
    if not len(close):
        return []
    pair = [float(abs(lam[close[0] + k])) / (2.0 * np.pi) for k in (0, 1)]
    problem = (
        f"the modes at {pair[0]:.5g} and {pair[1]:.5g} Hz are much closer than their bandwidth: noise mixes their "
        "shapes, and M, C, K with them. Check them against the record."
    )
    advice = Advice("Or fit a structured model with {}.", Call("da.identify.refine_structured"))
    return [Finding("close-modes", problem, {}, {"hertz": pair}, (advice,))]


def _refuse_poles(system: StateSpace, triple: mkr.ModalTriple, repeated: float = 1e-9) -> None:
    # repeated: relative distance of two poles below which rounding of the eigenvectors is of their own size
    if len(triple.real):
        shown = ", ".join(f"{value.real:.4g}" for value in triple.real[:4])
        odd = f"order {system.nx} is odd: " if system.nx % 2 else ""
        raise DataError(
            "overdamped",
            f"{odd}{len(triple.real)} poles are in no conjugate pair (rates {shown} 1/s): M, C, K cannot be found with "
            "overdamped modes. Choose the order so that all modes oscillate.",
            evidence={"order": system.nx, "real": len(triple.real)},
        )
    lam = triple.eigenvalues
    gaps = np.abs(lam[:, None] - lam[None, :]) + np.diag(np.full(len(lam), np.inf))
    if len(lam) > 1 and gaps.min() < repeated * np.abs(lam).max():
        raise DataError("repeated-poles", "two modes have the same pole: their shapes are not unique, nor are M, C, K.")


def _coordinates(
    places: tuple[SensorPlace, ...], drives: Mapping[str, tuple[str, float]], pairs: Pairs, count: int
) -> tuple[str, ...]:
    names = dict.fromkeys(place.coordinate for place in places)
    names |= dict.fromkeys(coordinate for coordinate, _ in drives.values())
    channels = {place.channel for place in places}
    for output, _ in pairs:
        require_name("co-located output", output, channels)
    if len(names) == count:
        return tuple(names)
    shown = ", ".join(names) or "none"
    if len(names) < count:
        raise DataError(
            "coordinate-count",
            f"{count} modes need {count} coordinates, each with a sensor or an actuator; there are {len(names)} "
            f"({shown}). Use a model of order {2 * len(names)}, or more sensors.",
            Advice(
                "With these sensors, fit unknowns of a model whose form is known with {}.",
                Call("da.identify.refine_structured"), Call("da.identify.update"),
            ),
        )  # fmt: skip
    raise DataError(
        "coordinate-count",
        f"{len(names)} coordinates ({shown}) but only {count} modes: their mass matrix would be singular. Use a model "
        f"of order {2 * len(names)}, or {count} of the outputs.",
        Advice("Choose them with {}.", Argument("sensors")),
    )


# ---- shapes


def _find_positions(system: StateSpace, triple: mkr.ModalTriple, places: tuple[SensorPlace, ...]) -> ComplexArray:
    """Positions at the sensors in every mode, in the scale of the eigenvectors, (sensors, n)."""
    rows = [system.outputs.index(place.channel) for place in places]
    powers = np.array([triple.eigenvalues ** float(-place.kind) for place in places])
    signs = np.array([place.sign for place in places])
    return np.asarray(signs[:, None] * triple.outputs[rows] * powers)


def _choose_case(setup: _Setup, pairs: Pairs, consistent: float = 1e-6) -> tuple[_Case, str]:
    """The co-located pairs as given, or those that make a mechanical model.

    consistent : difference of relative inconsistencies of two pairs that are as good: identified ones have 1e-3 and
    more, exact ones some roundings
    """
    candidates = dict.fromkeys(pairs)
    for name, (coordinate, _) in setup.drives.items():
        candidates |= dict.fromkeys((place.channel, name) for place in setup.places if place.coordinate == coordinate)
    if candidates:
        case = _scale(setup, tuple(candidates))
        _refuse_unmechanical(case)
        return case, ""
    if len({place.coordinate for place in setup.places}) < len(setup.coordinates):
        raise DataError(
            "not-colocated",
            "no coordinate has both a sensor and an actuator: the scale of the masses is not determined. Move one "
            "sensor to where a force acts.",
            Advice("Name output and input with {}.", Argument("colocated")),
        )
    cases = []
    for place in setup.places:
        for name in setup.system.inputs:
            try:
                cases.append(_scale(setup, ((place.channel, name),)))
            except (DataError, np.linalg.LinAlgError):
                continue
    fitting = [case for case in cases if case.mechanical]
    if not fitting:
        raise DataError(
            "not-colocated",
            "no pair of an output and an input, taken as co-located, gives positive definite mass and stiffness: the "
            "forces act where there is no sensor, or the model is poor.",
            Advice(
                "Name the pair with {}, or several where one does not move in all modes (uncoupled directions).",
                Argument("colocated"),
            ),
        )
    least = min(case.inconsistency[1] for case in fitting)
    equal = [case for case in fitting if case.inconsistency[1] <= least + consistent]
    best = _use_all_pairs(setup, equal[0])
    output, name = best.pairs[0]
    as_good = ", ".join(f"{sensor} with {force}" for case in equal[1:] for sensor, force in case.pairs)
    how = f"met as well as by {as_good}, and it is the first" if as_good else "met best"
    others = "" if len(fitting) == 1 else f", and the consistency of all {len(fitting)} that do is {how}"
    more = "".join(f"; {sensor} and {force} too, which move alike" for sensor, force in best.pairs[1:])
    return best, (
        f"{output} and {name} are taken as co-located: with them mass and stiffness are positive definite{others}{more}"
    )


def _use_all_pairs(setup: _Setup, case: _Case, alike: float = 0.25) -> _Case:
    """The case with every further pair of an output and an input that act at one place, where it stays mechanical.

    alike : relative difference of the shapes at a sensor and at a force that act at one place: 5 % noise of shapes of
    twelve modes leaves 0.1, two storeys of a frame differ by 0.7 and more
    """
    pairs = list(case.pairs)
    for j, name in enumerate(setup.system.inputs):
        if name in {actuator for _, actuator in pairs}:
            continue
        drive = setup.sign(name) * setup.triple.inputs[:, j] / case.T
        size = max(float(np.linalg.norm(drive)), 1e-300)
        apart = [float(np.linalg.norm(row * case.T - drive)) / size for row in setup.seen]
        nearest = int(np.argmin(apart))
        if apart[nearest] < alike:
            pairs.append((setup.places[nearest].channel, name))
    if len(pairs) == len(case.pairs):
        return case
    try:
        every = _scale(setup, tuple(pairs))
    except (DataError, np.linalg.LinAlgError):
        return case
    return every if every.mechanical else case


def _scale(setup: _Setup, pairs: Pairs) -> _Case:
    channels = [place.channel for place in setup.places]
    rows = [channels.index(output) for output, _ in pairs]
    columns = [setup.system.inputs.index(name) for _, name in pairs]
    signs = np.array([setup.sign(name) for _, name in pairs])
    at_pairs, driven = setup.seen[rows], signs * setup.triple.inputs[:, columns]
    _refuse_node(setup, at_pairs, driven, pairs)
    T = np.sqrt(mkr.scale_factors(at_pairs, driven))
    W = _scale_shapes(setup, pairs, T)
    M, K, R = mkr.second_order_matrices(W, setup.triple.eigenvalues)
    sign = -1.0 if np.linalg.eigvalsh(M)[-1] < 0.0 else 1.0
    if sign < 0.0:  # sensors with the opposite sign: W → i W, and every matrix changes its sign
        W, T, M, K, R = 1j * W, -1j * T, -M, -K, -R
    return _Case(pairs, W, T, M, K, R, sign, mkr.inconsistency(W))


def _scale_shapes(setup: _Setup, pairs: Pairs, T: ComplexArray) -> ComplexArray:
    """W (n, n): the mean over the sensors and actuators of each coordinate."""
    acting = {name: coordinate for name, (coordinate, _) in setup.drives.items()}
    acting |= {name: setup.coordinate_of(output) for output, name in pairs}
    inputs = dict(zip(setup.system.inputs, setup.triple.inputs.T, strict=True))
    rows = [(place.coordinate, row * T) for place, row in zip(setup.places, setup.seen, strict=True)]
    rows += [(coordinate, setup.sign(name) * inputs[name] / T) for name, coordinate in acting.items()]
    return np.array([np.mean([row for at, row in rows if at == name], axis=0) for name in setup.coordinates])


def _refuse_node(setup: _Setup, at_pairs: ComplexArray, driven: ComplexArray, pairs: Pairs, node: float = 1e-7) -> None:
    # node: motion of a mode at the co-located pair, relative to elsewhere: T_k² is a ratio of two such numbers, and
    # 1e-7 of double precision leaves it nine digits
    triple = setup.triple
    motion = np.linalg.norm(at_pairs, axis=0) / np.linalg.norm(setup.seen, axis=0)
    push = np.linalg.norm(driven, axis=1) / np.maximum(np.linalg.norm(triple.inputs, axis=1), np.finfo(float).tiny)
    bad = np.flatnonzero(~((motion > node) & (push > node)))
    if bad.size:
        hertz = abs(triple.eigenvalues[bad[0]]) / (2.0 * np.pi)
        shown = ", ".join(f"{output} with {name}" for output, name in pairs)
        raise DataError(
            "node",
            f"the mode at {hertz:.5g} Hz has a node where sensor and actuator are co-located ({shown}): its scale is "
            "not determined. Use another co-located pair.",
        )


def _refuse_unmechanical(case: _Case) -> None:
    masses = np.linalg.eigvalsh(case.M)
    if masses[0] <= 0.0:
        shown = ", ".join(f"{value:.4g}" for value in masses)
        pairs = ", ".join(f"{output} with {name}" for output, name in case.pairs)
        raise DataError(
            "not-positive-definite",
            f"the mass matrix is not positive definite (eigenvalues {shown}) with {pairs} as co-located. Check the "
            "pair, the kind and the sign of the sensors ('-x1.acceleration'), or the order of the model.",
        )


# ---- the model


def _remarks(case: _Case) -> list[str]:
    notes = []
    if case.sign < 0.0:
        notes.append("sensors and forces have opposite signs: the sign of every sensor was changed, else M is negative")
    most, relative = case.inconsistency
    notes.append(f"consistency: largest entry of W Wᵀ {most:.3g}, relative {relative:.2g} (0 for exact data)")
    stiff = np.linalg.eigvalsh(case.K)
    if stiff[0] <= 0.0:
        notes.append(f"the stiffness matrix is not positive definite (lowest eigenvalue {stiff[0]:.4g})")
    return notes


def _assemble(setup: _Setup, case: _Case, notes: list[str]) -> SecondOrder:
    system, places, coordinates, lam = setup.system, setup.places, setup.coordinates, setup.triple.eigenvalues
    B = np.zeros((len(coordinates), system.nu))
    acting = {name: (setup.coordinate_of(output), 1.0) for output, name in case.pairs} | dict(setup.drives)
    for j, name in enumerate(system.inputs):
        if name in acting:
            coordinate, sign = acting[name]
            B[coordinates.index(coordinate), j] = sign
        else:  # Wᵀ B₂ = T⁻¹ Ψ⁻¹ B_c, solved by M W Λ (W Λ Wᵀ = M⁻¹)
            B[:, j] = case.M @ (2.0 * ((case.W * lam) @ (setup.triple.inputs[:, j] / case.T)).real)
            notes.append(f"forces of input {name} on the coordinates were found, not given")
    reads = np.zeros((3, len(places), len(coordinates)))
    for i, place in enumerate(places):
        reads[place.kind, i, coordinates.index(place.coordinate)] = place.sign * case.sign
    outputs = [place.channel for place in places]
    free = set(coordinates)
    return SecondOrder(
        case.M, case.K, C=case.R, B=B, Y_position=reads[0], Y_velocity=reads[1], Y_acceleration=reads[2],
        coordinates=coordinates, inputs=system.inputs, outputs=outputs,
        units={k: v for k, v in system.units.items() if k in (*system.inputs, *outputs) and k not in free},
        provenance={"method": "MKR", "from": dict(system.provenance), "inconsistency": case.inconsistency[0]},
    )  # fmt: skip


def _choose_damping(
    made: SecondOrder, lam: ComplexArray, system: StateSpace, exact: float = 1e-9, simpler: float = 1.1
) -> Damping:
    """The simplest form of damping whose response is as near to the identified one as that of any form.

    Responses are compared at the natural frequencies and at the half-power points, each relative to the size there.

    exact : largest error of a form that is exact: rounding of responses of some hundred lines
    simpler : response error of a simpler form of damping over the least of all forms, up to which it is taken
    """
    w, decay = np.abs(lam), np.abs(lam.real)
    grid = np.unique(np.concatenate([w - decay, w, w + decay]))
    grid = grid[grid > 0.0] if system.dt is None else grid[(grid > 0.0) & (grid < np.pi / system.dt)]
    rows = [system.outputs.index(name) for name in made.outputs]
    wanted = system.frequency_response(grid).values[:, rows]
    size = np.linalg.norm(wanted, axis=(1, 2), keepdims=True)
    errors = {}
    for form in SUPPORTED:
        try:
            trial = _set_damping(made, lam, form)[0].state_space()
        except (DalembertError, np.linalg.LinAlgError):
            continue
        model = trial if system.dt is None else trial.to_discrete(system.dt)
        errors[form] = float(np.linalg.norm((model.frequency_response(grid).values - wanted) / size))
    least = min(errors.values(), default=0.0)
    good = (form for form in SUPPORTED if form in errors and errors[form] <= simpler * least + exact)
    return next(good, "identified")


def _set_damping(
    made: SecondOrder, lam: ComplexArray, damping: str, least_damping: float = 0.5
) -> tuple[SecondOrder, list[str], Sequence[Finding]]:
    """The model with the requested damping, notes, and findings where C contradicts the identified ratios.

    least_damping : relative change of a damping ratio from the modes to the matrices: half of it is noise
    """
    omega, zeta = np.abs(lam), -lam.real / np.abs(lam)
    if damping == "proportional":
        law = proportional_damping.quiet(omega, zeta)
        C = law.alpha * made.M + law.beta * made.K
        changed = made.replace(C=C, provenance={**made.provenance, "alpha": law.alpha, "beta": law.beta})
        note = (
            f"damping is alpha M + beta K, alpha = {law.alpha:.5g} 1/s, beta = {law.beta:.5g} s, fitted to the "
            f"identified ratios to {float(np.abs(law.residuals).max()):.2g}"
        )
        return changed, [note], law.findings
    if damping == "modal":
        modal = made.replace(C=modal_damping(made.replace(C=None), zeta))
        return modal, ["damping has the identified ratios by mode"], []
    modes = made.modes()
    pairs = modes.eigenvalues[modes.eigenvalues.imag > 0.0]
    ratios = -pairs.real / np.abs(pairs)
    if len(ratios) == len(zeta):
        change = float(np.max(np.abs(ratios - zeta) / np.maximum(np.abs(zeta), 1e-12)))
        if change < least_damping:
            return made, [f"damping ratios of the matrices are those of the modes to {100 * change:.2g} %"], []
    shown = ", ".join(f"{value:.3g}" for value in ratios)
    expected = ", ".join(f"{value:.3g}" for value in zeta)
    text = f"the damping matrix gives ratios {shown} where the modes have {expected}"
    finding = Finding(
        "inconsistent-damping",
        f"{text}: complex shapes of lightly damped modes are mostly noise.",
        evidence={"matrices": ratios.tolist(), "modes": zeta.tolist()},
        advice=(Advice("Use {}.", Argument("damping", "proportional"), Argument("damping", "modal")),),
    )
    return made, [text], [finding]
