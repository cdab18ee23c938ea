"""A model of poles that a person chose from a stabilization diagram.

The chosen poles λ = exp(s dt) and their shapes φ make the free motion, ξ[k+1] = λ ξ[k] and y = Re(φ ξ), one pair of
states each. B, D and the gain follow by least squares over the training data, as those of a subspace method do. The
poles stay exactly where the diagram has them; standard deviations are those of the best estimate near them.

A choice is plain data, as the page of a report exports it:

{"schema": "dalembert-choice", "version": 1, "files": [{"name": "run.csv", "sha256": "..."}], "inputs": ["force"],
 "outputs": ["a1"], "sample_time": 0.01, "diagram": {"method": "moesp", "rows": 20},
 "poles": [{"order": 12, "frequency_hz": 2.31, "damping_ratio": 0.011}]}
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import instance
from dalembert.core.errors import DataError, problem_of
from dalembert.core.findings import Finding
from dalembert.core.text import count_noun
from dalembert.identify.auto.mode_classes import judge_modes
from dalembert.identify.auto.nonlinearity import decide_nonlinearity
from dalembert.identify.auto.preparation import Setting
from dalembert.identify.auto.result import CLASSES, AutoIdentified
from dalembert.identify.auto.validation import find_doubts, find_poor_fit
from dalembert.identify.likelihood.cramer_rao import deviations
from dalembert.identify.model.identified import Identified
from dalembert.identify.records.data import Data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.subspace.innovation_form import correct_freedom, find_gain, find_inputs_and_noise
from dalembert.identify.subspace.projections import Projection
from dalembert.identify.subspace.stabilization import Stabilization
from dalembert.identify.subspace.subspace import make_model
from dalembert.record.sampling import steps_agree

SCHEMA, VERSION = "dalembert-choice", 1
LARGEST = sys.float_info.max
CHOSEN = CLASSES[3]
# Findings on the automatic model: they do not apply to another one.
OF_THE_MODEL = frozenset(
    {
        "coloured-residuals", "column-not-in-model", "dependent-residuals", "duplicate-modes", "equal-orders",
        "few-periods", "near-nyquist", "negative-damping", "no-convergence", "no-sound-mode", "overfit", "oversampled",
        "poles-at-stability-limit", "poor-fit", "uncertain-damping", "unmeasured-forces", "unstable-model",
        "unstable-poles",
    }
)  # fmt: skip


@dataclass(frozen=True)
class ChosenPole:
    """A pole of a diagram: order, frequency [Hz] and damping ratio."""

    order: int
    frequency_hz: float
    damping_ratio: float

    @property
    def s(self) -> complex:
        """The pole [rad/s]."""
        w, zeta = 2.0 * math.pi * self.frequency_hz, self.damping_ratio
        return complex(-zeta * w, w * math.sqrt(max(1.0 - zeta * zeta, 0.0)))


@dataclass(frozen=True)
class PoleChoice:
    """Chosen poles, and the data and the diagram that they were chosen from.

    ``files`` : SHA-256 by name; ``method``, ``rows`` : of the diagram, "" and 0 where not known.
    """

    poles: tuple[ChosenPole, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sample_time: float
    method: str
    rows: int
    files: Mapping[str, str]


@report_findings
def choose(result: AutoIdentified, choice: Mapping[str, Any] | PoleChoice) -> AutoIdentified:
    """The result with a model of chosen poles in place of the automatic one.

    Parameters
    ----------
    result : AutoIdentified
        Of :func:`dalembert.identify.auto` on the data that the poles were chosen from; its diagram has the poles.
    choice : mapping, as a report exports it
        ``{"schema": "dalembert-choice", "version": 1, "inputs", "outputs", "sample_time", "poles": [{"order",
        "frequency_hz", "damping_ratio"}]}``; ``"diagram"`` and ``"files"`` are optional.

    Returns
    -------
    AutoIdentified
        With exactly these poles, all modes of class "chosen", fit and residuals of this model.
    """
    instance(AutoIdentified)("result", result)
    wanted = choice if isinstance(choice, PoleChoice) else read_choice(choice)
    old, drawn = result.identified, result.stabilization
    rows = None if old.subspace is None else old.subspace.rows
    _check_data(wanted, old, drawn.method, rows)
    places, findings = _find_poles(wanted, result)
    setting = Setting(old.inputs, old.outputs, "mean" if old.offsets else "none", impacts=False, rows=rows)
    data = setting.read(result.training)
    projection = setting.project(data)
    s = np.array([_pole(drawn, k) for k in places])
    model = _add_deviations(_make_model(data, projection, s, drawn.shapes[places]), data)
    judged = judge_modes(model, projection, result.training, data, setting, result.time_scale, result.rotor)
    fit_in, fit_out = setting.fit(model, result.training), None
    if result.held_out:
        fit_out = setting.fit(model, result.held_out)
    kind = setting.kind if model.gain is not None else "simulation"
    residuals = model.residuals(result.held_out or result.training, kind)
    every = list(range(len(model.underdamped_modes())))
    findings_kept = [item for item in result.findings if item.code not in OF_THE_MODEL]
    findings += find_poor_fit(fit_in)
    findings += find_doubts(model, every, drawn, fit_in, fit_out, residuals, data.duration)
    listing = ", ".join(f"{drawn.frequencies_hz[k]:.5g} Hz (order {drawn.orders[k]})" for k in places)
    text = (
        f"set the automatic model aside and took {count_noun(len(places), 'pole')} of the diagram as chosen: {listing}"
        "; their shapes are those of the diagram, everything else follows by least squares"
    )
    return replace(
        result, identified=model, trials=(), fit=fit_out, training_fit=fit_in, residuals=residuals,
        decisions=(*result.decisions, text), findings=(*findings_kept, *findings),
        judgements=tuple(replace(item, grade=CHOSEN) for item in judged),
        nonlinearity=decide_nonlinearity(model, every, data, result.periodic),
    )  # fmt: skip


# ---- the model


def _pole(drawn: Stabilization, k: int) -> complex:
    return ChosenPole(int(drawn.orders[k]), float(drawn.frequencies_hz[k]), float(drawn.damping_ratios[k])).s


def _make_model(data: Data, projection: Projection, s: ComplexArray, shapes: ComplexArray) -> Identified:
    """Model of poles s (k,) [rad/s] with shapes (k, ny)."""
    hankel = projection.hankel
    z = np.exp(s * data.dt)
    scaled = shapes / hankel.scales[data.nu :]
    scaled = scaled / np.linalg.norm(scaled, axis=1)[:, None]
    n = 2 * len(s)
    A, C = np.zeros((n, n)), np.zeros((data.ny, n))
    for k, (pole, shape) in enumerate(zip(z, scaled, strict=True)):
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[pole.real, -pole.imag], [pole.imag, pole.real]]
        C[:, 2 * k], C[:, 2 * k + 1] = shape.real, -shape.imag
    gamma: FloatArray = np.empty((hankel.rows, data.ny, n))
    gamma[0] = C
    for i in range(1, hankel.rows):
        gamma[i] = gamma[i - 1] @ A
    B, D = np.zeros((n, 0)), np.zeros((data.ny, 0))
    if data.nu:
        B, D, K, S, notes, _ = find_inputs_and_noise(data, hankel, A, gamma, projection.innovations, True)
    else:
        K, S, note = find_gain(A, gamma, projection.innovations, correct_freedom(hankel))
        notes = [note]
    model = make_model(data, projection, (A, B, C, D, K, S), notes, ())
    return model.replace(method=f"{projection.method}, chosen poles")


def _add_deviations(model: Identified, data: Data) -> Identified:
    """The model with standard deviations, where these can be computed."""
    try:
        return deviations(model, data)
    except (DataError, np.linalg.LinAlgError) as error:
        return model.add_notes(f"there are no standard deviations: {problem_of(error)}")


# ---- the choice


def _check_data(wanted: PoleChoice, model: Identified, method: str, rows: int | None) -> None:
    """Refuse a choice of other channels, another rate or another diagram."""
    for kind, ours, theirs in (("inputs", model.inputs, wanted.inputs), ("outputs", model.outputs, wanted.outputs)):
        if tuple(ours) != tuple(theirs):
            raise DataError(
                "channel-mismatch",
                f"the choice was made with the {kind} {', '.join(theirs) or 'none'}, the data have "
                f"{', '.join(ours) or 'none'}. Give the same channels as for the report it comes from.",
                where={"argument": "choice"},
            )
    if not steps_agree(wanted.sample_time, model.dt):
        raise DataError(
            "sample-time-mismatch",
            f"the choice was made on samples every {wanted.sample_time:.6g} s, the model has {model.dt:.6g} s.",
            where={"argument": "choice"},
        )
    differs = wanted.method and wanted.method != method, wanted.rows and rows and wanted.rows != rows
    if any(differs):
        raise DataError(
            "no-such-pole",
            f"the choice was made on a diagram by {wanted.method} with {wanted.rows} block rows, this one is by "
            f"{method} with {rows}. Use the same part of the data and the same options as for the report.",
            where={"argument": "choice"},
        )


def _find_poles(
    wanted: PoleChoice, result: AutoIdentified, noticeable: float = 1e-4, same: float = 0.01
) -> tuple[list[int], list[Finding]]:
    """Places of the chosen poles in the diagram, ascending in frequency, and findings on those that moved.

    noticeable : distance above which a finding reports it: a page writes six digits, so the same diagram is
    within 1e-5.
    same : distance |Δs|/|s| of the nearest pole of its order: the tolerance of a pole that is stable over the orders.
    """
    drawn, scale = result.stabilization, result.time_scale
    places: list[int] = []
    moved = []
    poles = np.array([_pole(drawn, k) for k in range(len(drawn.orders))])
    for pole in sorted(wanted.poles, key=lambda one: one.frequency_hz):
        words = f"{pole.frequency_hz:.6g} Hz at order {pole.order}"
        if not scale.excites(np.array([pole.frequency_hz]))[0]:
            raise DataError(
                "out-of-range",
                f"the chosen pole of {words} lies outside the band that is excited, {scale.low:.4g} to "
                f"{scale.high:.4g} Hz: the data cannot show a mode there. Leave it out.",
                where={"argument": "choice"}, evidence={"hertz": pole.frequency_hz},
            )  # fmt: skip
        same_order = np.flatnonzero(drawn.orders == pole.order)
        apart = np.abs(poles[same_order] - pole.s) / abs(pole.s)
        if not len(same_order) or apart.min() > same:
            near = (
                f"; the nearest one is {drawn.frequencies_hz[same_order[np.argmin(apart)]]:.6g} Hz"
                if len(same_order)
                else ""
            )
            raise DataError(
                "no-such-pole",
                f"the stabilization diagram has no pole of {words}{near}. Choose from the report on these data.",
                where={"argument": "choice"}, evidence={"order": pole.order, "hertz": pole.frequency_hz},
            )  # fmt: skip
        place = int(same_order[np.argmin(apart)])
        if place in places:
            raise DataError("duplicate", f"the pole of {words} is chosen twice.", where={"argument": "choice"})
        if apart.min() > noticeable:
            moved.append(words)
        places.append(place)
    if not moved:
        return places, []
    problem = (
        f"the data are not those of the choice: its poles of {'; '.join(moved)} are not in this diagram; the nearest "
        "ones were taken."
    )
    return places, [Finding("changed-data", problem, {"argument": "choice"}, {"poles": len(moved)})]


def read_choice(document: object, most_poles: int = 200) -> PoleChoice:
    """A choice from plain data, checked.

    Examples
    --------
    >>> pole = {"order": 4, "frequency_hz": 2.0, "damping_ratio": 0.01}
    >>> plain = {"schema": "dalembert-choice", "version": 1, "inputs": [], "outputs": ["a1"], "sample_time": 0.01,
    ...          "poles": [pole]}
    >>> read_choice(plain).poles
    (ChosenPole(order=4, frequency_hz=2.0, damping_ratio=0.01),)
    """
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise _bad("wrong-type", f'a choice is a JSON object with "schema": "{SCHEMA}", as a report exports it')
    if document.get("version") != VERSION:
        raise _bad("bad-version", f'"version" is {document.get("version")!r}, only {VERSION} is known')
    listed = document.get("poles")
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        raise _bad("missing-argument", '"poles" must be a list')
    if not listed:
        raise _bad("empty", "it has no poles: choose at least one in the report")
    if len(listed) > most_poles:
        raise _bad("too-large", f"it has {len(listed)} poles, more than {most_poles}")
    diagram = document.get("diagram") or {}
    files = document.get("files") or []
    if not isinstance(diagram, Mapping) or not isinstance(files, list):
        raise _bad("wrong-type", '"diagram" must be an object and "files" a list')
    return PoleChoice(
        tuple(_read_pole(k, entry) for k, entry in enumerate(listed, start=1)),
        _read_names(document, "inputs"), _read_names(document, "outputs"),
        _read_number(document, "sample_time", '"sample_time"', 0.0, math.inf), str(diagram.get("method") or ""),
        int(_read_number({"rows": diagram.get("rows") or 0}, "rows", 'the "rows" of the diagram', -1.0, 1e6)),
        {str(entry.get("name")): str(entry.get("sha256")) for entry in files if isinstance(entry, Mapping)},
    )  # fmt: skip


def _read_pole(number: int, entry: object, most: int = 10_000) -> ChosenPole:
    if not isinstance(entry, Mapping):
        raise _bad("wrong-type", f"pole {number} must be an object with order, frequency_hz and damping_ratio")
    order = entry.get("order")
    if isinstance(order, bool) or not isinstance(order, int) or not 0 < order <= most:
        raise _bad("not-a-count", f"the order of pole {number} must be a whole number of states, not {order!r:.40}")
    return ChosenPole(
        order, _read_number(entry, "frequency_hz", f"the frequency_hz of pole {number}", 0.0, math.inf),
        _read_number(entry, "damping_ratio", f"the damping_ratio of pole {number}", -1.0, 1.0),
    )  # fmt: skip


def _read_number(entry: Mapping[str, Any], key: str, words: str, above: float, below: float) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < min(below, LARGEST):
        raise _bad("out-of-range", f"{words} must be a number between {above:g} and {below:g}, not {value!r:.40}")
    return float(value)


def _read_names(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = document.get(key)
    if not isinstance(names, Sequence) or isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise _bad("missing-argument", f'"{key}" must be a list of names of channels')
    return tuple(names)


def _bad(code: str, problem: str) -> DataError:
    return DataError(code, f"this choice cannot be used: {problem}.", where={"argument": "choice"})
