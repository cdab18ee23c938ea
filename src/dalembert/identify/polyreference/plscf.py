"""Poly-reference least-squares complex frequency domain method: modes from frequency responses.

After Peeters, Van der Auweraer, Guillaume and Leuridan (2004).

Poles and participations come from right matrix fractions of growing degree (`matrix_fraction`) and are compared and
clustered as those of the subspace methods (`subspace/stabilization.py`). Shapes and residual terms follow by least
squares, and with them poles that fit the responses best (`modal_fit`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray, IntArray
from dalembert.core.declare import checked, count, instance, interval
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.polyreference.matrix_fraction import FractionPoles, MatrixFraction
from dalembert.identify.polyreference.modal_fit import fit_modes
from dalembert.identify.polyreference.result import PolyreferenceModes
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.spectral.frf import FrfEstimate
from dalembert.identify.subspace.stabilization import Tolerances, compare_orders, draw_diagram
from dalembert.linear.modes import Modes
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.numerics import ties

# Powers of iω of the residual terms: modes below and above the lines. With -2 and 0 alone modes an octave away
# move damping ratios by some per mille; the further ones cost no more than the noise of a measurement.
POWERS = tuple(range(-4, 5))


@report_findings
@checked
def plscf(
    response: Annotated[FrfEstimate | FrequencyResponse, instance(FrfEstimate, FrequencyResponse), "measured"],
    *,
    band_hz: Annotated[tuple[float, float], interval("Hz"), "of the lines that count"] | None = None,
    orders: Iterable[int] | None = None,
    order: Annotated[int, count(1), "number of states of a single fraction, instead of the diagram"] | None = None,
    tolerances: Annotated[Tolerances, instance(Tolerances), "of the diagram"] | None = None,
) -> PolyreferenceModes:
    """Frequencies, damping ratios, shapes and participations from frequency responses of any number of inputs.

    Parameters
    ----------
    response : measured by :func:`frf`, or read from a universal file by
        :func:`dalembert.files.read_frequency_response`. The lines need no equal distance.
    orders : numbers of states of the diagram, multiples of the number of inputs; optional
        Degrees 1, 2, ... of the fraction up to 60 states, or to degree 24 where this is more.

    Returns
    -------
    PolyreferenceModes
        The modes of the diagram, or all poles that decay of one fraction, where its ``order`` is given. With random
        errors of the responses frequencies and damping ratios have standard deviations.

    Examples
    --------
    >>> w = np.linspace(0.5, 60.0, 300)
    >>> H = 1.0 / (400.0 - w**2 + 0.8j * w) + 0.5 / (900.0 - w**2 + 0.6j * w)
    >>> found = plscf(FrequencyResponse(w, H, ["force"], ["sway"], kind="receptance"))
    >>> found.frequencies_hz.round(4).tolist(), found.damping_ratios.round(4).tolist()
    ([3.1831, 4.7746], [0.02, 0.01])
    """
    measured = response.response if isinstance(response, FrfEstimate) else response
    deviations = response.deviations if isinstance(response, FrfEstimate) else None
    w, H, lines = _choose_lines(measured, band_hz)
    nf, ny, nu = H.shape
    a, b = _sizes(H)
    scaled = H / (a[:, None] * b)
    degrees = _degrees(nf, nu, [order] if order is not None else orders)
    weights, known = _weights(scaled, None if deviations is None else deviations[lines] / (a[:, None] * b))
    fraction = MatrixFraction(w, scaled, 1.0 / np.sqrt(np.mean(weights**-2.0, axis=2)), degrees[-1])
    limits = tolerances or Tolerances()
    models = [fraction.poles(p, w[0], w[-1]) for p in degrees]
    states = [p * nu for p in degrees]
    poles = compare_orders([(n, model.s, model.shapes) for n, model in zip(states, models, strict=True)], limits)
    note = f"right matrix fractions of degree {degrees[0]} to {degrees[-1]}, {nf} lines, {ny} outputs, {nu} inputs"
    diagram, places = draw_diagram(
        poles, states, limits, "plscf", measured.outputs, a, np.zeros(0), note, measured.provenance
    )
    every = FractionPoles(*(np.concatenate([getattr(model, name) for model in models])
                            for name in ("s", "shapes", "participation")))  # fmt: skip
    if order is not None:
        damping = -every.s.real / np.abs(every.s)
        places = np.flatnonzero(damping <= limits.largest_damping).tolist()
    fit = fit_modes(w, scaled, weights, every.s[places], every.participation[places], POWERS)
    ascending = ties.by_modulus(fit.s)
    s, shapes, participation = fit.s[ascending], fit.shapes[:, ascending] * a[:, None], fit.participation[ascending] * b
    if len(s):
        largest = shapes[ties.first_largest(shapes), np.arange(len(s))]
        shapes, participation = shapes / largest, participation * largest[:, None]
    findings = list(response.findings) if isinstance(response, FrfEstimate) else []
    if not len(s):
        problem = "no pole of the responses stays where it is while the order grows: there is no mode, or only noise."
        findings.append(Finding("no-peak", problem, {}, {"lines": nf}))
    deviation = _pole_deviations(fit.information, fit.s)[:, ascending] if known and len(s) else None
    return PolyreferenceModes(
        modes=Modes(
            s, shapes, measured.outputs, frequency_deviations_hz=None if deviation is None else deviation[0],
            damping_deviations=None if deviation is None else deviation[1], provenance=measured.provenance,
        ),
        participation=participation, residual_terms=fit.E * (a[:, None] * b), residual_powers=POWERS,
        stabilization=diagram, measured=response, lines=lines, inputs=measured.inputs, outputs=measured.outputs,
        notes=(*diagram.notes, f"residual terms: powers {POWERS[0]} to {POWERS[-1]} of iω"), findings=tuple(findings),
        provenance={**measured.provenance, "method": "plscf"},
    )  # fmt: skip


def _choose_lines(
    measured: FrequencyResponse, band_hz: tuple[float, float] | None
) -> tuple[FloatArray, ComplexArray, IntArray]:
    """Frequencies (nf,) above zero in the band, responses there, and their places; lines without input are left out."""
    hertz = measured.frequencies_hz
    low, high = band_hz or (0.0, np.inf)
    inside = (hertz > 0.0) & (hertz >= low) & (hertz <= high) & np.abs(measured.values).any(axis=(1, 2))
    lines = np.flatnonzero(inside)
    return measured.frequencies[lines], measured.values[lines], lines


def _sizes(H: ComplexArray) -> tuple[FloatArray, FloatArray]:
    """(ny,), (nu,): root mean squares of the outputs, and of the inputs for outputs of unit size."""
    a = np.sqrt(np.mean(np.abs(H) ** 2, axis=(0, 2)))
    DataError.when(not a.all(), "zero", "an output has no response at any line.")
    b = np.sqrt(np.mean(np.abs(H / a[:, None]) ** 2, axis=(0, 1)))
    DataError.when(not b.all(), "zero", "an input has no response at any line.")
    return a, b


def _degrees(nf: int, nu: int, orders: Iterable[int] | None, states: int = 60, largest: int = 24) -> list[int]:
    """Degrees of the fractions; (degree + 1)(inputs + 1) unknowns for twice as many real equations per output."""
    room = nf // (1 + nu) - 1
    if orders is None:
        degrees = list(range(1, min(max(-(-states // nu), largest), room) + 1))
    else:
        degrees = sorted({-(-count(1)("each of the orders", n) // nu) for n in orders})
    if not degrees or degrees[-1] > room:
        needed = ((degrees[-1] if degrees else 1) + 1) * (nu + 1)
        raise DataError(
            "too-few-samples", f"{nf} lines are too few for fractions of this order: {needed} are needed.",
            Advice("Give a lower {}, a wider band, or measure longer.", Argument("order")),
            evidence={"lines": nf, "needed": needed},
        )  # fmt: skip
    return degrees


def _weights(H: ComplexArray, deviations: FloatArray | None, exact: float = 1e-6) -> tuple[FloatArray, bool]:
    """Weights (nf, ny, nu), and whether they are inverse standard deviations.

    exact : smallest deviation that counts, of the root mean square response: simulated data have none
    """
    if deviations is None:
        return np.ones(H.shape), False
    return 1.0 / np.maximum(deviations, exact), True


def _pole_deviations(information: FloatArray, s: ComplexArray) -> FloatArray:
    """(2, k) standard deviations of frequencies [Hz] and damping ratios."""
    k = len(s)
    sizes = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    covariance = np.linalg.pinv(information / np.outer(sizes, sizes), hermitian=True) / np.outer(sizes, sizes)
    size = np.abs(s)
    rows = np.arange(k)
    slopes = np.zeros((2, k, 2 * k))
    slopes[0, rows, rows], slopes[0, rows, k + rows] = s.real / size, s.imag / size
    slopes[1, rows, rows], slopes[1, rows, k + rows] = -(s.imag**2) / size**3, s.real * s.imag / size**3
    slopes[0] /= 2.0 * np.pi
    return np.asarray(np.sqrt(np.einsum("ckp,pq,ckq->ck", slopes, covariance, slopes)))
