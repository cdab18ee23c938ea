"""How far apart slow and fast motion were in a run; derivatives of measured inputs.

    share = rms K⁻¹ (h₁ + h₂) / rms K⁻¹ h₀        ω_slow = rms K⁻¹ ḧ₀ / rms K⁻¹ ḣ₀

A share of a tenth leaves an error of about a hundredth at order 2. Measured inputs are differentiated by

    D₁(s) = ω_c s / (s + ω_c) ,   D₂(s) = ω_c² s² / (s² + √2 ω_c s + ω_c²)        (Butterworth)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.record.units import per_second
from dalembert.solve.scales.slow_equations import input_channels

if TYPE_CHECKING:
    from dalembert.solve.scales.two_time_scale import TwoTimeScale

LARGE_TERMS = 0.1  # share of the terms of order 2: their square, the error of order 2, is then a hundredth
NOTICED = 1e-3  # error of the deflections at order 0 below which no finding is worth its words
CONVERGED = 3.0  # least fall of this error at half of ε: terms of order 4 are then below a quarter of those of order 2
APART = 3.0  # least ratio of frequencies, as for `separate_scales`
POSES = 20  # along a run, whose fast frequencies are computed


def judge_run(two: TwoTimeScale, run: Record) -> tuple[Finding, ...]:
    """See `TwoTimeScale.validity`."""
    e = replace(two, order=2)
    q, v, z, u = _columns(two, run)
    states = [q, v, z, *np.split(u, 3, axis=1)]
    time = run.time.reshape(-1, 1)
    h0, h1, h2, dh0, ddh0, *_ = e.kernel("manifold").many(*states, two.eqs.p, time)
    T = np.linalg.inv(two.split.matrices(two.eqs.p)[0])
    x0, x2, y0, w0 = (part @ T for part in (h0, h1 + h2, dh0, ddh0))
    findings = []
    share = _rms(x2) / max(_rms(x0), 1e-300)
    if share > LARGE_TERMS:
        findings.append(Finding(
            "out-of-range", f"terms of order 2 of the deflections are {share:.2g} of those of order 0: the expansion "
            "has not converged in this motion.", {}, {"share": share, "epsilon": two.epsilon},
            (Advice("Move more slowly, or count the lowest modes as slow coordinates with {}.", Argument("fast")),),
        ))  # fmt: skip
    chosen = np.unique(np.linspace(0, len(run) - 1, POSES).astype(int))
    some = [part[chosen] for part in states]
    rigid = replace(two, order=0)
    soft, stiff = (_rms(rigid.kernel("residual", k).many(*some, two.eqs.p, time[chosen])[1]) for k in (1.0, 4.0))
    error, fall = soft / max(_rms(x0), 1e-300), soft / max(4 * stiff, 1e-300)
    if error > NOTICED and fall < CONVERGED:
        findings.append(Finding(
            "out-of-range", f"deflections of order 0 are off by {100 * error:.2g} %, which half of ε would divide by "
            f"{fall:.2g}, not by 4: ε = {two.epsilon:.4g} s/rad is not small for this motion.", {},
            {"error": error, "fall": fall, "epsilon": two.epsilon},
        ))  # fmt: skip
    poles = [_lowest_fast(two, q[k], z[k], float(run.time[k])) for k in chosen]
    slow = _rms(w0) / max(_rms(y0), 1e-9 * min(poles) * _rms(x0), 1e-300)
    if min(poles) < APART * slow:
        findings.append(Finding(
            "out-of-range", f"the slow motion has {slow / (2 * np.pi):.3g} Hz, the lowest fast mode on the way "
            f"{min(poles) / (2 * np.pi):.3g} Hz; a ratio of {APART:g} is needed.", {},
            {"slow": slow, "fast": min(poles), "ratio": min(poles) / slow},
        ))  # fmt: skip
    return tuple(findings)


def _lowest_fast(two: TwoTimeScale, q: Array, z: Array, t: float) -> float:
    A21, A22, _ = replace(two, order=0)._fast_matrices(q, z, t)
    zero, one = np.zeros_like(A21), np.eye(len(A21))
    return float(np.abs(np.linalg.eigvals(np.block([[zero, one], [A21, A22]]))).min())


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _columns(two: TwoTimeScale, run: Record) -> tuple[Array, Array, Array, Array]:
    """Slow coordinates, speeds, internal states and inputs with two derivatives, from the channels of a run."""
    eqs, split = two.eqs, two.split
    inputs = input_channels(eqs, 2)
    varying = any(name in run and np.ptp(run[name]) > 0 and f"{name}.rate" not in run for name in eqs.inputs.names)
    run = add_input_rates(eqs, run, 30.0) if varying else run
    drawn = eqs.state().q
    rest = {eqs.coordinates.names[k]: drawn[k] for k in split.slow_q
            if eqs.coordinates.names[k] in eqs.unrecorded}  # fmt: skip
    rest |= dict.fromkeys(inputs.names, 0.0) | dict(eqs.resting_inputs)
    groups = ([eqs.coordinates.names[k] for k in split.slow_q], [eqs.speeds.names[k] for k in split.slow_v],
              eqs.internal.names, inputs.names)  # fmt: skip
    for name in (name for group in groups for name in group):
        if name not in run and name not in rest:
            raise DataError("missing-channel", unknown_name("channel", name, run.names, "the run"))
    q, v, z, u = (
        np.array([run[name] if name in run else np.full(len(run), rest[name]) for name in group]).T.reshape(
            len(run), -1
        )
        for group in groups
    )
    return q, v, z, u


def add_input_rates(eqs: EquationsOfMotion, record: Record, cutoff_hz: float) -> Record:
    """See `TwoTimeScale.input_rates`."""
    from scipy.signal import cont2discrete, lfilter

    if not record.is_even:
        raise DataError("uneven-sampling", "the inputs must be sampled at equal intervals to be differentiated.")
    corner = 2 * np.pi * cutoff_hz
    filters = (([corner, 0.0], [1.0, corner]), ([corner**2, 0.0, 0.0], [1.0, np.sqrt(2) * corner, corner**2]))
    channels = {name: record[name] for name in record.names}
    units = dict(record.units)
    for name in eqs.inputs.names:
        if name not in record:
            continue
        for count, transfer in enumerate(filters, 1):
            numerator, denominator, _ = cont2discrete(transfer, record.sample_time, method="bilinear")
            label = f"{name}{'.rate' * count}"
            channels[label] = lfilter(np.ravel(numerator), denominator, record[name] - record[name][0])
            units[label] = per_second(record.units[name] or "1", count)
    return Record.from_channels(record.time, channels, units, name=record.name, provenance=record.provenance)
