"""Data of the modal workbench: measured response, poles over the orders, modes with their classes, and places.

The page shows them with the script of ``app/workbench`` and exports a choice of poles as JSON (``identify.choose``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.identify.auto.choice import SCHEMA, VERSION
from dalembert.identify.auto.mode_classes import assign_poles
from dalembert.identify.auto.result import AutoIdentified
from dalembert.identify.model.collinearity import modal_phase_collinearity
from dalembert.identify.model.identified import Identified
from dalembert.identify.polyreference.result import PolyreferenceModes
from dalembert.identify.records.data import Detrend, read_data
from dalembert.identify.spectral.frf import FrfEstimate, frf
from dalembert.identify.spectral.spectra import Spectra, psd_unit
from dalembert.identify.subspace.projections import INPUT_METHODS, OUTPUT_METHODS
from dalembert.identify.subspace.stabilization import Stabilization, stabilization
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.record import Record
from dalembert.view.animation.shape_scene import Spot, find_motion, join_spots
from dalembert.view.plots.figures import with_unit
from dalembert.view.plots.identification import band_of_interest, measure_outputs

MOST_PAIRS = 24  # of inputs and outputs in a page
MOST_LINES = 4000  # of a measured response: more than four per pixel of a wide screen
MODEL_LINES = 2000  # of the response of a model; lines at its poles are added


@dataclass(frozen=True)
class ModalEvidence:
    """Contents of the figures of an identified model.

    ``measured`` : frequency response, or spectra of the outputs without inputs; ``drawn`` : diagram, where there is
    one; ``band`` : [Hz]; ``grades``, ``texts`` : class of every mode and the reasons against it, "" where not judged;
    ``records`` : measured ones, which show the lines that the inputs excite.
    """

    model: Identified | PolyreferenceModes
    measured: FrfEstimate | FrequencyResponse | Spectra | None
    drawn: Stabilization | None
    band: tuple[float, float]
    grades: tuple[str, ...]
    texts: tuple[str, ...]
    records: tuple[Record, ...] = ()

    @property
    def axis(self) -> tuple[float, float]:
        """Ends of the frequency axis [Hz]."""
        return band_of_interest(*self.band, 0.5 / self.model.dt)


def evidence_of_auto(result: AutoIdentified) -> ModalEvidence:
    """Evidence from an automatic identification, with spectra where there are no inputs."""
    model = result.identified
    measured: FrfEstimate | Spectra | None = result.frf
    if not model.inputs:
        measured = measure_outputs(result.training, model)
    grades = tuple(judged.grade for judged in result.judgements)
    texts = tuple(judged.text() for judged in result.judgements)
    drawn = result.stabilization if len(result.stabilization.orders) else None
    return ModalEvidence(
        model, measured, drawn, (result.time_scale.low, result.time_scale.high), grades, texts, result.training
    )


def evidence_of_model(model: Identified, records: Sequence[Record]) -> ModalEvidence:
    """Evidence on a model of a single method: responses of its records, and the diagram of a subspace method."""
    measured: FrfEstimate | Spectra | None = None
    drawn = None
    try:
        if model.inputs:
            data = read_data.quiet(list(records), model.inputs, model.outputs, offset_matters=False)
            measured = frf(data.replace(findings=()))
        else:
            measured = measure_outputs(records, model)
    except DataError:
        pass  # too few samples, or a constant input: the page has no response
    source = model.subspace
    if source is not None and source.method in (INPUT_METHODS if model.inputs else OUTPUT_METHODS):
        level: Detrend = "mean" if model.offsets else "none"
        data = read_data.quiet(list(records), model.inputs, model.outputs, detrend=level, offset_matters=False)
        try:
            drawn = stabilization(data.replace(findings=()), method=source.method, rows=source.rows)
        except DataError:
            drawn = None
        drawn = drawn if drawn is not None and len(drawn.orders) else None
    tops = model.frequencies_hz
    high = min(1.3 * float(tops.max()), 0.5 / model.dt) if len(tops) else 0.5 / model.dt
    return ModalEvidence(model, measured, drawn, (0.0, high), ("",) * len(tops), ("",) * len(tops), tuple(records))


def workbench_data(
    evidence: ModalEvidence, *, spots: Mapping[str, Spot] | None, files: Mapping[str, str] | None
) -> dict[str, Any] | None:
    """Data of the page; None where there is neither a response nor a diagram.

    files : SHA-256 by name, for the choice; None where no choice can be made of this result
    """
    model, drawn = evidence.model, evidence.drawn
    if evidence.measured is None and drawn is None:
        return None
    modes = model.underdamped_modes()
    mpc = modal_phase_collinearity(modes.shapes)
    sd_f, sd_z = model.frequency_deviations_hz, model.damping_deviations
    return {
        "inputs": model.inputs, "outputs": model.outputs, "dt": model.dt, "limit": 0.5 / model.dt,
        "band": evidence.band, "home": evidence.axis, "method": _name(model),
        "labels": list(Stabilization.label_names),
        "response": _response(evidence),
        "modes": [
            {
                "hz": modes.frequencies_hz[k], "damping": modes.damping_ratios[k], "mpc": mpc[k],
                "hz_deviation": None if sd_f is None else _finite(sd_f[k]),
                "damping_deviation": None if sd_z is None else _finite(sd_z[k]), "class": evidence.grades[k],
                "reasons": evidence.texts[k], "re": modes.shapes[:, k].real.tolist(),
                "im": modes.shapes[:, k].imag.tolist(),
            }
            for k in range(len(modes))
        ],
        "poles": None if drawn is None else _poles(drawn, assign_poles(drawn, modes)),
        "first": [] if drawn is None else _first_choice(drawn, evidence),
        "places": None if not spots else _places(spots, model.outputs),
        "choice": None if files is None or drawn is None else {
            "schema": SCHEMA, "version": VERSION,
            "files": [{"name": name, "sha256": digest} for name, digest in files.items()],
            "inputs": model.inputs, "outputs": model.outputs, "sample_time": model.dt,
            "diagram": {"method": drawn.method, "rows": getattr(getattr(model, "subspace", None), "rows", 0)},
        },
    }  # fmt: skip


def _name(model: Identified | PolyreferenceModes) -> str:
    return f"the model ({model.method})"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _poles(drawn: Stabilization, own: Any) -> dict[str, Any]:
    return {
        "order": drawn.orders.tolist(), "hz": np.array(drawn.frequencies_hz), "damping": np.array(drawn.damping_ratios),
        "label": drawn.labels.tolist(), "mac": np.array(drawn.mac), "mpc": np.array(drawn.mpc), "mode": own.tolist(),
        "re": drawn.shapes.real.ravel(), "im": drawn.shapes.imag.ravel(),
    }  # fmt: skip


def _first_choice(drawn: Stabilization, evidence: ModalEvidence) -> list[int]:
    """Indices of the poles chosen at first: for every sound mode the nearest pole that the previous order also has."""
    modes = evidence.model.underdamped_modes()
    owners = assign_poles(drawn, modes)
    indices = []
    for k, grade in enumerate(evidence.grades):
        members = np.flatnonzero((owners == k) & (drawn.labels > 0))
        if grade in ("uncertain", "of the fit only") or not len(members):
            continue
        w = 2.0 * np.pi * drawn.frequencies_hz[members]
        zeta = drawn.damping_ratios[members]
        s = w * (-zeta + 1j * np.sqrt(np.maximum(1.0 - zeta**2, 0.0)))
        indices.append(int(members[np.argmin(np.abs(s - modes.eigenvalues[k]))]))
    return indices


def _places(spots: Mapping[str, Spot], outputs: Sequence[str]) -> dict[str, Any]:
    motion, number = find_motion(spots, outputs), {name: k for k, name in enumerate(spots)}
    listed = [
        {
            "name": name if "[" not in name else "", "at": list(spot.position),
            "moves": [[int(c), int(axis), directions[axis, c]] for axis, c in zip(*np.nonzero(directions))],
        }
        for (name, spot), directions in zip(spots.items(), motion)
    ]  # fmt: skip
    return {"spots": listed, "lines": [[number[a], number[b]] for a, b in join_spots(spots)]}


# ---- the measured response and that of the model


def _response(evidence: ModalEvidence) -> dict[str, Any] | None:
    if isinstance(evidence.measured, FrfEstimate | FrequencyResponse):
        return _frequency_response(evidence.measured, evidence)
    return None if evidence.measured is None else _output_spectra(evidence.measured, evidence)


def _model_lines(model: Identified | PolyreferenceModes, first: float, last: float) -> FloatArray:
    """Frequencies [rad/s] of the curve of a model: even ones, and more about its peaks, which are narrow."""
    modes = model.underdamped_modes()
    near = modes.eigenvalues.imag[:, None] + np.abs(modes.eigenvalues.real)[:, None] * np.linspace(-8.0, 8.0, 65)
    every = np.concatenate([np.linspace(first, last, MODEL_LINES), near.ravel()])
    return np.unique(every[(every >= first) & (every <= last)])


def _choose_lines(hertz: FloatArray, size: FloatArray, top: float) -> Any:
    """Indices of the lines that a page shows: all of a band, or the largest of each group of lines."""
    inside = np.flatnonzero((hertz > 0.0) & (hertz <= top))
    if len(inside) <= MOST_LINES:
        return inside
    parts = np.array_split(inside, MOST_LINES)
    return np.array([group[np.argmax(size[group])] for group in parts])


def _log_sum(values: FloatArray) -> FloatArray:
    """Mean over pairs of log10 of sizes (nf, pairs)."""
    least = 1e-12 * max(float(values.max(initial=0.0)), 1e-300)
    result: FloatArray = np.mean(np.log10(np.maximum(values, least)), axis=1)
    return result


def _frequency_response(measured: FrfEstimate | FrequencyResponse, evidence: ModalEvidence) -> dict[str, Any]:
    estimate = measured if isinstance(measured, FrfEstimate) else None
    response = measured.response if isinstance(measured, FrfEstimate) else measured
    deviations = estimate.deviations if estimate else None
    hertz, values = measured.frequencies_hz, response.values
    flat = np.abs(values).reshape(len(hertz), -1)
    lines = _choose_lines(hertz, flat.sum(axis=1), max(2.0 * evidence.axis[1], 1e-9))
    w = _model_lines(evidence.model, measured.frequencies[lines[0]], measured.frequencies[lines[-1]])
    model = evidence.model
    modelled = (
        model.response(w) if isinstance(model, PolyreferenceModes) else model.system.frequency_response(w)
    ).values
    pairs = []
    many = len(response.inputs) > 1
    for j, input_ in enumerate(response.inputs):
        for i, output in enumerate(response.outputs):
            H = values[lines, i, j]
            unit = with_unit("", response.unit(output, input_)).strip("[]")
            pairs.append(
                {
                    "name": f"{output} / {input_}" if many or len(response.outputs) == 1 else output,
                    "unit": unit, "re": H.real, "im": H.imag,
                    "deviation": None if deviations is None else deviations[lines, i, j],
                    "coherence": None if estimate is None else estimate.coherence.multiple[lines, i],
                    "model": {"re": modelled[:, i, j].real, "im": modelled[:, i, j].imag},
                }
            )  # fmt: skip
    return {
        "kind": "frf", "hz": hertz[lines], "pairs": pairs[:MOST_PAIRS], "model_hz": w / (2.0 * np.pi),
        "sum": _log_sum(flat[lines]), "excited": _excited(evidence, hertz)[lines].tolist(),
    }  # fmt: skip


EXCITED = 1e-4  # least power of an input at a line, of its largest: 40 dB below it a response is that of noise


def _excited(evidence: ModalEvidence, hertz: FloatArray) -> Any:
    """Whether any input has power at a line; elsewhere the ratio of output and input is noise."""
    from dalembert.identify.records.survey import spectrum

    is_excited = np.zeros(len(hertz), dtype=bool)
    runs = [run for run in evidence.records if len(run) > 16 and run.is_even]
    for name in evidence.model.inputs:
        for run in runs:
            f, power = spectrum(np.nan_to_num(run[name]), run.sample_time)
            is_excited |= np.interp(hertz, f, power) > EXCITED * power.max()
    return is_excited if runs else ~is_excited


def _output_spectra(measured: Spectra, evidence: ModalEvidence) -> dict[str, Any]:
    hertz = measured.frequencies_hz
    power = np.maximum(np.einsum("kii->ki", measured.values).real, 0.0)
    size = np.sqrt(np.maximum(power.sum(axis=0) * (hertz[1] - hertz[0]), 1e-300))
    scale = np.outer(size, size)
    lines = _choose_lines(hertz, power.sum(axis=1), max(2.0 * evidence.axis[1], 1e-9))
    w = _model_lines(evidence.model, measured.frequencies[lines[0]], measured.frequencies[lines[-1]])
    modelled_spectra = evidence.model.output_spectra(w) if isinstance(evidence.model, Identified) else None
    largest = np.linalg.svd(measured.values[lines] / scale, compute_uv=False)[:, 0]
    none = {"im": None, "deviation": None, "coherence": None}
    first: dict[str, Any] = {"name": "all: largest singular value", "unit": "1/Hz", "re": largest, **none}
    if modelled_spectra is not None:
        first["model"] = {"re": np.linalg.svd(modelled_spectra / scale, compute_uv=False)[:, 0], "im": None}
    pairs = [first] if len(measured.names) > 1 else []
    for i, name in enumerate(measured.names):
        unit = psd_unit(measured.units.get(name, "")).replace("^2", "²")
        model = None if modelled_spectra is None else {"re": modelled_spectra[:, i, i].real, "im": None}
        pairs.append({"name": name, "unit": unit, "re": power[lines, i], **none, "model": model})
    return {
        "kind": "spectrum", "hz": hertz[lines], "pairs": pairs[:MOST_PAIRS], "model_hz": w / (2.0 * np.pi),
        "sum": np.log10(np.maximum(largest, 1e-12 * float(largest.max(initial=1e-300)))),
    }  # fmt: skip
