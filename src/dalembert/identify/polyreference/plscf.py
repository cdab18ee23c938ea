"""Poly-reference least-squares complex frequency domain method: modes from frequency responses.

After Peeters, Van der Auweraer, Guillaume and Leuridan (2004).

Poles and participations come from right matrix fractions of growing degree and are compared and
clustered as those of the subspace methods (`subspace/stabilization.py`). Shapes and residual terms follow by least
squares, and with them poles that fit the responses best.

Right matrix fractions of frequency responses by linear least squares (Peeters, Van der Auweraer and others 2004).

    H(ω) = N(w) A(w)⁻¹,   w = e^{-iωT},   N = Σ_r N_r wʳ (ny x nu),   A = Σ_r A_r wʳ (nu x nu),   A_p = 1

minimises Σ_o ‖W_o (N_o - H_o A)‖² over the lines, with real coefficients. Each output is compressed once, by QR of
[1 w ... wᵖ, -H_o ⊗ (1 w ... wᵖ)] for the largest degree p; smaller degrees take columns of it. No normal equations are
formed, so that exact data keep their digits.

A(w) r = 0 at a pole w = e^{-sT}, |w| > 1 where s decays. With the highest coefficient fixed, poles that fit noise grow
and are left out. With l the left null vector, the residue is N(w) r lᵀ / (lᵀ A'(w) r): a shape times a participation.

T = π/(1.25 ω_last): the lines fill four fifths of the circle. What is no polynomial of w, modes out of the band and the
logarithm between s and w, is then smooth along the lines and a few more powers represent it.

Residues of frequency responses at known poles, and the poles that fit best (least squares, frequency domain).

H(ω) = Σ_k (φ_k l_kᵀ / (iω - s_k) + conjugate) + Σ_q E_q (iω)^q

E_q real: modes below the lines leave powers below zero, those above the lines powers from zero on. For poles and
participations the shapes and E are linear, one small problem per output. The poles and participations follow by
Gauss-Newton steps on what the linear unknowns leave (variable projection, Golub and Pereyra 1973). With residuals
weighted by their standard deviation the inverse of JᵀJ is the covariance of the poles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray, IntArray
from dalembert.core.declare import checked, count, instance, interval
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.polyreference.result import PolyreferenceModes
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.spectral.frf import FrfEstimate
from dalembert.identify.subspace.stabilization import Tolerances, compare_orders, draw_diagram
from dalembert.linear.modes import Modes
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.numerics import ties
from dalembert.numerics.chain_least_squares import triangularise


@dataclass(frozen=True, eq=False)
class ModalFit:
    """Modes that fit responses: s (k,) [rad/s], shapes (ny, k), participation (k, nu), E (powers, ny, nu).

    cost : weighted sum of squares; information : (2 k, 2 k), of Re s and Im s in turn, after all other unknowns.
    """

    s: ComplexArray
    shapes: ComplexArray
    participation: ComplexArray
    E: FloatArray
    cost: float
    information: FloatArray
    change: FloatArray  # Gauss-Newton step of (Re s, Im s, Re l, Im l)


def fit_modes(
    w: FloatArray, H: ComplexArray, weights: FloatArray, s: ComplexArray, participation: ComplexArray,
    powers: tuple[int, ...], passes: int = 5,
) -> ModalFit:  # fmt: skip
    """Modes at given poles and participations, improved by Gauss-Newton steps as long as the fit gets better.

    weights : (nf, ny, nu).  passes : steps; the start is close and each step squares the distance.
    """
    fit = _fit_shapes(w, H, weights, s, participation, powers)
    for _ in range(passes if len(s) else 0):
        k = len(s)
        moved = fit.s + fit.change[:k] + 1j * fit.change[k : 2 * k]
        turned = fit.participation.ravel() + np.array([1.0, 1j]) @ fit.change[2 * k :].reshape(2, -1)
        if not ((moved.real < 0.0) & (moved.imag > 0.0)).all():
            break
        trial = _fit_shapes(w, H, weights, moved, turned.reshape(fit.participation.shape), powers)
        if not trial.cost < fit.cost:
            break
        fit = trial
    size = np.linalg.norm(fit.participation, axis=1)
    return replace(fit, shapes=fit.shapes * size, participation=fit.participation / size[:, None])


def _split(columns: ComplexArray) -> FloatArray:
    return np.concatenate([columns.real, columns.imag])


def _fit_shapes(
    w: FloatArray, H: ComplexArray, weights: FloatArray, s: ComplexArray, participation: ComplexArray,
    powers: tuple[int, ...],
) -> ModalFit:  # fmt: skip
    """Shapes and E by linear least squares, and the step that improves poles and participations."""
    (nf, ny, nu), k = H.shape, len(s)
    iw = 1j * w
    scale = float(w[-1])  # powers of ω/ω_last
    near, far = 1.0 / (iw[:, None] - s), 1.0 / (iw[:, None] - s.conj())  # (nf, k)
    factors = participation.T[None]  # (1, nu, k)
    first, second = near[:, None] * factors, far[:, None] * factors.conj()
    smooth = np.zeros((nf, nu, len(powers) * nu), dtype=np.complex128)
    for q, power in enumerate(powers):
        for j in range(nu):
            smooth[:, j, q * nu + j] = (iw / scale) ** power
    basis = np.concatenate([first + second, 1j * (first - second), smooth], axis=2).reshape(nf * nu, -1)
    shapes = np.zeros((ny, k), dtype=np.complex128)
    E = np.zeros((len(powers), ny, nu))
    count = 2 * k + 2 * k * nu
    information, gradient, cost = np.zeros((count, count)), np.zeros(count), 0.0
    for o in range(ny):
        factor = weights[:, o].reshape(-1, 1)
        A, b = _split(factor * basis), _split(factor[:, 0] * H[:, o].ravel())
        sizes = np.linalg.norm(A, axis=0)
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        Q, R = np.linalg.qr(A / sizes)
        x = np.linalg.lstsq(R, Q.T @ b, rcond=None)[0] / sizes
        shapes[o] = x[:k] + 1j * x[k : 2 * k]
        E[:, o] = x[2 * k :].reshape(len(powers), nu)
        residual = b - A @ x
        cost += float(residual @ residual)
        by_pole = shapes[o] * near[:, None] * first, shapes[o].conj() * far[:, None] * second
        slopes = [by_pole[0] + by_pole[1], 1j * (by_pole[0] - by_pole[1])]
        turning = np.zeros((2, nf, nu, k, nu), dtype=np.complex128)
        for j in range(nu):
            a, c = shapes[o] * near, shapes[o].conj() * far
            turning[0, :, j, :, j], turning[1, :, j, :, j] = a + c, 1j * (a - c)
        slopes += [turning[i].reshape(nf, nu, -1) for i in (0, 1)]
        J = _split(factor * np.concatenate(slopes, axis=2).reshape(nf * nu, -1))
        J -= Q @ (Q.T @ J)
        information += J.T @ J
        gradient += J.T @ residual
    E /= scale ** np.array(powers, dtype=np.float64)[:, None, None]
    step, inner = _solve_scaled(information, gradient, 2 * k)
    return ModalFit(s, shapes, participation, E, cost, inner, step)


def _solve_scaled(
    N: FloatArray, g: FloatArray, kept: int, undetermined: float = 1e-10
) -> tuple[FloatArray, FloatArray]:
    """Solution of N x = g of minimum norm in unit columns, and the Schur complement of the first unknowns.

    undetermined : relative eigenvalue of combinations without effect: the length of a participation, rounding 1e-14
    """
    sizes = np.sqrt(np.maximum(np.diag(N), 0.0))
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    scaled = N / np.outer(sizes, sizes)
    step = np.linalg.pinv(scaled, rcond=undetermined, hermitian=True) @ (g / sizes) / sizes
    rest = np.linalg.pinv(scaled[kept:, kept:], rcond=undetermined, hermitian=True)
    inner = scaled[:kept, :kept] - scaled[:kept, kept:] @ rest @ scaled[kept:, :kept]
    return step, inner * np.outer(sizes[:kept], sizes[:kept])


@dataclass(frozen=True, eq=False)
class FractionPoles:
    """Decaying poles of one fraction: s (k,) [rad/s], shapes (k, ny), participation (k, nu)."""

    s: ComplexArray
    shapes: ComplexArray
    participation: ComplexArray


class MatrixFraction:
    """Fractions of every degree up to the largest, from responses H (nf, ny, nu) at lines ω (nf,) [rad/s].

    weights : (nf, ny) of the lines of each output.
    """

    def __init__(self, w: FloatArray, H: ComplexArray, weights: FloatArray, degree: int, circle: float = 1.25) -> None:
        # circle: share of the half circle beyond the last line; at 1 the responses jump between the ends of the lines,
        # and four times as many powers give the same digits
        self.T = np.pi / (circle * float(w[-1]))
        self.degree, self.nu = degree, H.shape[2]
        powers = np.exp(-1j * w * self.T)[:, None] ** np.arange(degree + 1)
        self.factors: list[FloatArray] = []
        for o in range(H.shape[1]):
            outputs = (-powers[:, :, None] * H[:, None, o, :]).reshape(len(w), -1)  # columns: powers, then inputs
            both = weights[:, o, None] * np.hstack([powers, outputs])
            self.factors.append(triangularise(np.vstack([both.real, both.imag])))

    def poles(self, p: int, first: float, last: float, weak: float = 1e-12) -> FractionPoles:
        """Poles of the fraction of degree p with Im s from first to last.

        weak : relative size of combinations of coefficients that exact data do not determine; these fade out.
        """
        nu, m = self.nu, p * self.nu
        start = self.degree + 1
        columns = [*range(p + 1), *range(start, start + m + nu)]
        triangles: list[FloatArray] = [triangularise(factor[:, columns]) for factor in self.factors]
        R = triangularise(np.vstack([S[p + 1 :, p + 1 :] for S in triangles]))
        damped = np.vstack([R[:, :m], weak * np.linalg.norm(R, 2) * np.eye(m)])
        below = np.vstack([-R[:, m:], np.zeros((m, nu))])
        alpha = np.vstack([np.linalg.lstsq(damped, below, rcond=None)[0], np.eye(nu)])
        beta = np.array(
            [-np.linalg.lstsq(S[: p + 1, : p + 1], S[: p + 1, p + 1 :] @ alpha, rcond=None)[0] for S in triangles]
        )  # (ny, p + 1, nu)
        companion = np.eye(m, k=nu)
        companion[-nu:] = -np.hstack(list(alpha[:m].reshape(p, nu, nu)))
        w, left, right = scipy.linalg.eig(companion, left=True)
        s = np.asarray(-np.log(np.where(w == 0.0, 1e-300, w)) / self.T, dtype=np.complex128)
        inside = np.flatnonzero((s.real < 0.0) & (s.imag >= first) & (s.imag <= last))
        inside = inside[ties.by_modulus(s[inside])]
        powers = w[inside, None] ** np.arange(p + 1)
        slopes = np.arange(1, p + 1) * powers[:, :-1]
        r, participation = right[:nu, inside].T, left[-nu:, inside].conj().T
        slope = np.einsum("kj,kr,rjc,kc->k", participation, slopes, alpha.reshape(p + 1, nu, nu)[1:], r)
        shapes = np.einsum("kr,orc,kc->ko", powers, beta, r) / np.where(slope == 0.0, 1.0, slope)[:, None]
        return _separate(FractionPoles(s[inside], shapes, participation))


def _separate(poles: FractionPoles, repeated: float = 1e-3) -> FractionPoles:
    """The same with one basis for repeated poles, whose eigenvectors are any basis: one input drives each shape.

    repeated : relative distance of two poles within which noise turns their shapes into each other; the fit of poles
    and shapes separates them where the responses determine more
    """
    s, shapes, participation = poles.s, poles.shapes.copy(), poles.participation.copy()
    edges = np.flatnonzero(np.abs(np.diff(s)) > repeated * np.abs(s[1:])) + 1
    for group in np.split(np.arange(len(s)), edges):
        if 1 < len(group) <= participation.shape[1]:
            remaining = np.linalg.qr(participation[group].T)[0].T  # its column norms do not depend on the basis
            driving = []
            for _ in group:
                driving.append(int(ties.first_largest(np.linalg.norm(remaining, axis=0))))
                column = remaining[:, driving[-1]] / np.linalg.norm(remaining[:, driving[-1]])
                remaining = remaining - np.outer(column, column.conj() @ remaining)
            G = participation[np.ix_(group, np.sort(driving))]
            shapes[group] = G.T @ shapes[group]
            participation[group] = np.linalg.solve(G, participation[group])
    size = np.linalg.norm(participation, axis=1, keepdims=True)
    return FractionPoles(s, shapes * size, participation / np.where(size > 0.0, size, 1.0))


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
