"""Three classes of modes: sound, uncertain, and of the fit only.

Evidence on a mode of the final model:

orders      a pole near it in most models of larger order, by the same subspace method
methods     the same with other weights of the projection (CVA; SSI-cov without inputs)
parts       the same in each half of the training data
deviations  standard deviations of frequency and damping ratio small against their values

A mode is of the fit only where it lies outside the band that is excited, never decays, decays at once, is a steady sine
of a machine (without inputs), repeats another mode of the same shape, or lacks most of the evidence. It is sound where
it lacks none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DalembertError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.auto.preparation import Setting
from dalembert.identify.auto.result import CLASSES, ModeJudgement
from dalembert.identify.auto.settled_poles import find_endless
from dalembert.identify.auto.time_scale import TimeScale
from dalembert.identify.auto.validation import find_duplicates
from dalembert.identify.model.identified import Identified
from dalembert.identify.records.data import Data
from dalembert.identify.spectral.machine_harmonics import find_machine_harmonics
from dalembert.identify.spectral.rotor_lines import RotorLines
from dalembert.identify.subspace.projections import Projection, project
from dalembert.identify.subspace.stabilization import Stabilization, Tolerances, find_poles
from dalembert.linear.modes import Modes
from dalembert.record import Record


class Judged(Protocol):
    """What the evidence on modes needs of a model: its order, sample time and standard deviations."""

    @property
    def order(self) -> int: ...
    @property
    def dt(self) -> float: ...
    @property
    def frequency_deviations_hz(self) -> FloatArray | None: ...
    @property
    def damping_deviations(self) -> FloatArray | None: ...


def judge_modes(
    model: Identified, projection: Projection, training: Sequence[Record], data: Data, setting: Setting,
    scale: TimeScale | None, rotor: RotorLines | None = None,
) -> tuple[ModeJudgement, ...]:  # fmt: skip
    """Class and reasons of every mode that oscillates, in their order; rotor : whose lines were removed."""
    modes = model.underdamped_modes()
    hard = _find_hard_reasons(model, modes, data, scale)
    evidence = _collect_evidence(model, modes, projection, training, setting)
    harmonics = find_harmonics(modes.frequencies_hz, measure_strength(model, data))
    covered: list[int] = [] if rotor is None else np.flatnonzero(rotor.covers(modes.frequencies_hz)).tolist()
    return weigh_evidence(model, modes, hard, evidence, harmonics=harmonics, covered=covered)


def weigh_evidence(
    model: Judged, modes: Modes, hard: Sequence[Sequence[str]], evidence: Mapping[str, FloatArray],
    harmonics: Collection[int] = (), covered: Collection[int] = (), lacking: int = 3, orders: float = 0.6,
    frequency_deviation: float = 0.01, damping_deviation: float = 0.33,
) -> tuple[ModeJudgement, ...]:  # fmt: skip
    """Class and reasons of every mode, from the reasons by which it is of the fit only and from shares of models.

    lacking : a mode is of the fit only if it lacks at least this number of kinds of evidence.
    orders : least share of the orders at which a mode appears.
    frequency_deviation, damping_deviation : relative standard deviations of frequency and damping ratio of a sound
    mode, as test engineers require: the 95 % interval of the damping is within a factor 2.
    """
    sd_f, sd_z = model.frequency_deviations_hz, model.damping_deviations
    judged = []
    for k in range(len(modes)):
        lacks = [name for name, shares in evidence.items() if shares[k] < orders]
        if sd_f is not None and sd_z is not None:
            wide = sd_f[k] > frequency_deviation * modes.frequencies_hz[k]
            if wide or sd_z[k] > damping_deviation * abs(modes.damping_ratios[k]):
                lacks.append("deviations")
        if k in harmonics:
            lacks.append("harmonic")
        if k in covered:
            lacks.append("rotor")
        grade = CLASSES[0] if not lacks else CLASSES[1]
        if hard[k] or len(lacks) >= lacking:
            grade = CLASSES[2]
        shares = {name: float(values[k]) for name, values in evidence.items()}
        judged.append(ModeJudgement(grade, (*hard[k], *lacks), shares))
    return tuple(judged)


def _find_hard_reasons(
    model: Identified, modes: Modes, data: Data, scale: TimeScale | None, heavy: float = 0.3
) -> list[list[str]]:
    """Reasons by which a mode is of the fit only.

    heavy : damping ratio above which a pole is not counted as a vibration: its motion loses 85 % in one period.
    """
    f, zeta = modes.frequencies_hz, modes.damping_ratios
    reasons: list[list[str]] = [[] for _ in f]
    excited = np.ones(len(f), dtype=bool) if scale is None else scale.excites(f)
    endless = find_endless(model, max(data.lengths))
    sines = {} if data.nu else find_machine_harmonics(data, modes)
    for k in range(len(f)):
        if not excited[k]:
            reasons[k].append("not-excited")
        if f[k] in endless:
            reasons[k].append("no-decay")
        if zeta[k] > heavy:
            reasons[k].append("heavily-damped")
        if k in sines:
            reasons[k].append("machine")
    strength = measure_strength(model, data)
    for i, j in find_duplicates(model):
        weak = i if strength[i] < strength[j] else j
        reasons[weak].append("duplicate")
    return reasons


def find_harmonics(
    hertz: FloatArray, strength: FloatArray, largest_multiple: int = 5, harmonic: float = 0.005, weak: float = 0.2
) -> set[int]:
    """Weak modes at twice to five times the frequency of a strong one: its spring is not linear.

    largest_multiple, harmonic, weak : distance of a harmonic from a whole multiple, the largest multiple, and its
    strength against that of its base: harmonics of the flexible building are within 0.3 %, at 2 to 5 times, below 10 %.
    """
    harmonics = set()
    for k, f in enumerate(hertz):
        times = f / hertz
        order = np.round(times)
        near = (np.abs(times - order) < harmonic * order) & (order >= 2) & (order <= largest_multiple)
        if (near & (strength[k] < weak * strength)).any():
            harmonics.add(k)
    return harmonics


def assign_poles(
    drawn: Stabilization, modes: Modes, frequency: float = 0.02, least_mac: float = 0.8
) -> NDArray[np.intp]:
    """Number of the mode, from 0, to which every pole of a diagram belongs, (P,); -1 for none.

    A pole belongs to the mode nearest in frequency and shape, where both agree within the limits for evidence.

    frequency, least_mac : largest differences of two poles of the same mode: relative in frequency and damping, or a
    number of standard deviations; least MAC where there are two outputs at least. Subspace poles of the frames of the
    tests (1 and 10 % noise) are within 0.5 % and 20 %; two random shapes of three numbers have a MAC above 0.8 in 1 of
    9 cases.
    """
    f = drawn.frequencies_hz
    if not len(modes) or not len(f):
        return np.full(len(f), -1, dtype=np.intp)
    apart = np.abs(f[:, None] - modes.frequencies_hz) / modes.frequencies_hz
    near = apart <= frequency
    if drawn.shapes.shape[1] > 1:
        a = drawn.shapes / np.maximum(np.linalg.norm(drawn.shapes, axis=1), 1e-300)[:, None]
        b = modes.shapes / np.maximum(np.linalg.norm(modes.shapes, axis=0), 1e-300)
        mac = np.abs(a.conj() @ b) ** 2
        near &= mac >= least_mac
        apart = apart + 1.0 - mac
    near &= (drawn.damping_ratios > 0.0)[:, None]
    best = np.argmin(np.where(near, apart, np.inf), axis=1)
    return np.where(near[np.arange(len(f)), best], best, -1)


def find_missing_columns(
    model: Identified, drawn: Stabilization, scale: TimeScale, rotor: RotorLines | None = None, heavy: float = 0.3
) -> list[Finding]:
    """A finding on vibrations of the excited band that every larger order of the diagram has, and the model has not."""
    modes, orders = assign_poles(drawn, model.underdamped_modes()), np.unique(drawn.orders)
    hertz, first = [], []
    wanted = scale.excites(drawn.frequency_means) & (drawn.damping_means < heavy)
    if rotor is not None:
        wanted &= ~rotor.covers(drawn.frequency_means)
    for k in np.flatnonzero(wanted):
        column = drawn.clusters == k + 1
        present = np.unique(drawn.orders[column])
        unbroken = len(present) == np.count_nonzero(orders >= present[0])
        if unbroken and (modes[column] < 0).all():
            hertz.append(float(drawn.frequency_means[k]))
            first.append(int(present[0]))
    if not hertz:
        return []
    names = ", ".join(f"{f:.5g} Hz (from order {order})" for f, order in zip(hertz, first, strict=True))
    problem = f"the model of order {model.order} lacks stable columns of the diagram: {names}."
    larger = Advice("Compare with a larger order, {}.", Argument("order", max(*first, model.order + 2)))
    return [Finding("column-not-in-model", problem, {}, {"hertz": hertz, "orders": first}, (larger,))]


def measure_strength(model: Identified, data: Data) -> FloatArray:
    """Size of the motion of every underdamped mode: |c| |b| over its decay, (k,), in units of the channels' sizes."""
    system = model.system
    values, vectors = np.linalg.eig(system.A)
    values = values.astype(np.complex128)
    drive = system.B if system.nu else (model.gain if model.gain is not None else np.ones((system.nx, 1)))
    su = np.sqrt(np.mean(np.vstack(data.u) ** 2, axis=0)) if system.nu else np.ones(drive.shape[1])
    sy = np.maximum(np.sqrt(np.mean(np.vstack(data.y) ** 2, axis=0)), 1e-300)
    b = np.linalg.norm(np.linalg.lstsq(vectors, (drive * su).astype(np.complex128), rcond=None)[0], axis=1)
    c = np.linalg.norm((system.C / sy[:, None]) @ vectors, axis=0)
    size = b * c / np.sqrt(np.maximum(1.0 - np.abs(values) ** 2, 1e-12))
    s = np.log(np.where(values == 0.0, 1e-300, values)) / model.dt
    wanted = model.underdamped_modes().eigenvalues
    return np.array([size[int(np.argmin(np.abs(s - target)))] for target in wanted])


def _collect_evidence(
    model: Identified, modes: Modes, projection: Projection, training: Sequence[Record], setting: Setting
) -> dict[str, FloatArray]:
    """Share of the orders at which every mode appears: by order, method, and the worse half of the data."""
    evidence: dict[str, FloatArray] = {}
    evidence["orders"] = find_shares(model, modes, projection)
    evidence["methods"] = find_shares(model, modes, project(projection.hankel, setting.other_method))
    halves = []
    for half in halve(training):
        try:
            halves.append(find_shares(model, modes, setting.project(setting.read(half))))
        except (DalembertError, np.linalg.LinAlgError):
            continue  # too short, or a channel is constant
    if len(halves) == 2:
        evidence["parts"] = np.minimum(*halves)
    return evidence


def halve(training: Sequence[Record]) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """Two halves of the training data: of the records, or of the single one."""
    if len(training) > 1:
        return tuple(training[0::2]), tuple(training[1::2])
    run = training[0]
    middle = float(run.time[len(run) // 2])
    return (run.between(None, middle),), (run.between(middle, None),)


def find_shares(
    model: Judged, modes: Modes, projection: Projection, rank_limit: float = 1e-12, more_orders: int = 12
) -> FloatArray:
    """Share of the orders from that of the model on, at which a pole near each mode appears.

    more_orders : orders beyond that of the model, at which poles are compared.
    """
    hankel = projection.hankel
    rank = int(
        np.count_nonzero(projection.values > rank_limit * projection.values[0])
    )  # noise-free data show no more states
    room = max(1, min((hankel.rows - 1) * hankel.ny, rank))
    first = min(model.order, room)
    orders = list(range(first, min(first + more_orders, room) + 1, 2))
    poles = find_poles(projection, orders, model.dt, Tolerances())
    shapes = modes.shapes / hankel.scales[hankel.nu :, None]  # at the scaled channels
    shapes = shapes / np.maximum(np.linalg.norm(shapes, axis=0), 1e-300)
    size = np.maximum(np.abs(modes.eigenvalues), 1e-300)
    apart = np.abs(poles.s[:, None] - modes.eigenvalues) / size - np.abs(poles.shapes.conj() @ shapes) ** 2
    nearest = np.argmin(apart, axis=1) if len(modes) else np.zeros(len(poles.s), dtype=np.intp)
    shares = []
    for k in range(len(modes)):
        nearest_poles = nearest == k  # a pole is evidence for one mode only
        is_same = _same_mode(
            model,
            modes,
            k,
            shapes[:, k],
            poles.s[nearest_poles],
            poles.shapes[nearest_poles],
            hankel.columns * model.dt,
        )
        shares.append(len(np.unique(poles.order[nearest_poles][is_same])) / len(orders))
    return np.array(shares)


def _same_mode(
    model: Judged, modes: Modes, k: int, shape: FloatArray, s: ComplexArray, shapes: ComplexArray, duration: float,
    frequency: float = 0.02, damping: float = 0.6, scatter: float = 2.0, mac: float = 0.8, deviations: float = 4.0,
) -> np.ndarray:  # fmt: skip
    """Which poles s (p,) with their shapes (p, ny) are mode k, within tolerances and deviations.

    frequency, damping, mac, deviations : largest differences of two poles of the same mode: relative in frequency and
    damping, or a number of standard deviations; least MAC where there are two outputs at least. Subspace poles of the
    frames of the tests (1 and 10 % noise) are within 0.5 % and 20 %; two random shapes of three numbers have a MAC
    above 0.8 in 1 of 9 cases.
    scatter : number of standard deviations of a damping ratio under random forces, where this limit is larger.
    """
    f, zeta = float(modes.frequencies_hz[k]), float(modes.damping_ratios[k])
    sd_f, sd_z = model.frequency_deviations_hz, model.damping_deviations
    near_f = max(frequency * f, 0.0 if sd_f is None else deviations * float(sd_f[k]))
    near_z = max(damping * abs(zeta), 0.0 if sd_z is None else deviations * float(sd_z[k]))
    # scatter of a damping ratio under random forces that were not measured: √(ζ/(2π f T))
    near_z = max(near_z, scatter * np.sqrt(max(zeta, 0.0) / (2.0 * np.pi * max(f, 1e-300) * duration)))
    size, ratios = np.abs(s), -s.real / np.maximum(np.abs(s), 1e-300)
    same = (np.abs(size / (2.0 * np.pi) - f) <= near_f) & (np.abs(ratios - zeta) <= near_z)
    if len(shape) > 1:
        same &= np.abs(shapes.conj() @ shape) ** 2 >= mac
    return np.asarray(same)
