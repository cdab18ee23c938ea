"""The Cramér-Rao bound of modes, and standard deviations of models that were not refined.

No unbiased estimate scatters less than the inverse of the Fisher information (Cramér 1946, Rao 1945); the
maximum-likelihood estimate of :func:`~dalembert.identify.refine` reaches it for long records. The information is that
of the modal model with all its parameters unknown (poles, B, C, D, initial states): `modal_likelihood`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import matrix, positive_number
from dalembert.core.arrays import ComplexArray, FloatArray, assign, frozen
from dalembert.core.declare import above_and_below, checked
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.tables import align_columns
from dalembert.identify.likelihood import modal_likelihood as likelihood
from dalembert.identify.likelihood import parametrisation, uncertainty
from dalembert.identify.likelihood.likelihood_search import LikelihoodSearch
from dalembert.identify.likelihood.refine import add_covariance, prepare_refinement
from dalembert.identify.likelihood.robust_deviations import choose_covariance
from dalembert.identify.model.identified import DeviationMethod, HoldsIdentified, Identified, take_identified
from dalembert.identify.records.data import Data
from dalembert.linear.recursions import march
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record
from dalembert.record.sampling import steps_agree


@frozen(init=False)
class ModalBounds:
    """Least standard deviations of the modes that oscillate, ascending.

    Attributes
    ----------
    frequencies_hz, damping_ratios : (k,)
    frequency_deviations_hz [Hz], damping_deviations : (k,)
    covariance : (2k, 2k)
        Of f_1 [Hz], ζ_1, f_2, ...
    """

    frequencies_hz: FloatArray
    damping_ratios: FloatArray
    frequency_deviations_hz: FloatArray
    damping_deviations: FloatArray
    covariance: FloatArray

    def __init__(self, poles: ComplexArray, covariance: FloatArray) -> None:
        spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        assign(
            self, frequencies_hz=np.abs(poles) / (2.0 * np.pi), damping_ratios=-poles.real / np.abs(poles),
            frequency_deviations_hz=spread[0::2], damping_deviations=spread[1::2], covariance=covariance.copy(),
        )  # fmt: skip

    def table(self) -> str:
        """Mode by mode, with deviations in per cent."""
        rows = [
            (str(i + 1), f"{f:.6g}", f"{100 * sf / f:.2g}", f"{z:.5g}", f"{100 * sz / abs(z):.2g}" if z else "-")
            for i, (f, sf, z, sz) in enumerate(
                zip(self.frequencies_hz, self.frequency_deviations_hz, self.damping_ratios, self.damping_deviations,
                    strict=True)
            )
        ]  # fmt: skip
        return align_columns(("mode", "frequency [Hz]", "± %", "damping ratio", "± %"), rows)

    def __repr__(self) -> str:
        return f"Cramér-Rao bounds\n{self.table()}"


def cramer_rao(
    system: StateSpace | SecondOrder | Identified | HoldsIdentified,
    record: Record | Sequence[Record] | Data | ArrayLike, noise: ArrayLike, *, dt: float | None = None,
) -> ModalBounds:  # fmt: skip
    """Least standard deviations of frequencies and damping ratios from a record, for any method.

    Parameters
    ----------
    system : the true system; sampled with zero-order hold where it is continuous
    record : Record, several, or Data with the inputs; or the inputs as an array (N, nu) with ``dt``
    noise : standard deviation of the sensor noise, one number or one per output, or its covariance (ny, ny)
    dt : sample time [s] of inputs given as an array

    Returns
    -------
    ModalBounds

    Examples
    --------
    >>> truth = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.5], dt=0.1)
    >>> u = np.random.default_rng(1).standard_normal((2000, 1))
    >>> once, four = cramer_rao(truth, u, 0.05, dt=0.1), cramer_rao(truth, [u, u, u, u], 0.05, dt=0.1)
    >>> round(float(once.damping_deviations[0] / four.damping_deviations[0]), 2)
    2.0
    """
    source = take_identified(system)
    inner: StateSpace | SecondOrder = source.system if isinstance(source, Identified) else source
    u, step = _inputs(inner, record, None if dt is None else positive_number("dt", dt))
    if isinstance(inner, SecondOrder):
        inner = inner.state_space()
    sampled = inner.to_discrete(step) if inner.dt is None else inner
    if not steps_agree(sampled.dt or step, step):
        raise DataError(
            "sample-time-mismatch", f"the record is sampled every {step:.6g} s, the system every {sampled.dt:.6g} s."
        )
    R = noise_covariance(noise, sampled.outputs)
    y = tuple(_from_rest(sampled, inputs_run) for inputs_run in u)
    model, changes = parametrisation.modal_model(
        sampled.A, sampled.B, sampled.C, sampled.D, np.any(sampled.D != 0.0, axis=0), len(u)
    )
    if changes:
        raise DataError("not-supported", f"the bound of this system cannot be found: {changes[0]}.")
    search = LikelihoodSearch(u, y, full=True, start=True)
    point = search.evaluate(model)
    free = likelihood.free_parameters(point.model, point.score, len(u), start=search.start)
    return ModalBounds(*uncertainty.modal_covariance(point, free, R, step))


def _inputs(
    system: StateSpace | SecondOrder, record: Record | Sequence[Record] | Data | ArrayLike, dt: float | None
) -> tuple[tuple[FloatArray, ...], float]:
    if isinstance(record, Data):
        return record.u, record.dt
    runs: list[Any] = list(record) if isinstance(record, (list, tuple)) else [record]
    if all(isinstance(run, Record) for run in runs) and runs:
        return tuple(np.array(run[list(system.inputs)]) for run in runs), runs[0].sample_time
    step = dt if dt is not None else getattr(system, "dt", None)
    if step is None:
        raise DataError(
            "missing-argument",
            "inputs given as an array have no sample time.",
            Advice("Give {}.", Argument("dt")),
            where={"argument": "dt"},
        )
    if runs and np.ndim(runs[0]) < 2:
        runs = [np.asarray(record, dtype=np.float64).reshape(-1, 1)]
    nu = len(system.inputs)
    return tuple(matrix("inputs", run, None, nu, "one column per input") for run in runs), float(step)


def _from_rest(system: StateSpace, u: FloatArray) -> FloatArray:
    x = march(system.A, (u @ system.B.T)[:-1], np.zeros(system.nx))
    result: FloatArray = x @ system.C.T + u @ system.D.T
    return result


def noise_covariance(noise: ArrayLike, outputs: Sequence[str]) -> FloatArray:
    """Covariance (ny, ny) of one standard deviation, one per output, or a covariance."""
    values, ny = np.asarray(noise, dtype=np.float64), len(outputs)
    if values.ndim == 2:
        R = matrix("noise", values, ny, ny, "outputs by outputs")
    elif values.size in (1, ny):
        R = np.diag(np.broadcast_to(values.reshape(-1) ** 2, (ny,)))
    else:
        raise DataError(
            "wrong-shape",
            f"noise has {values.size} numbers; expected 1, one per output ({ny}), or a {ny} x {ny} matrix.",
        )
    if not np.isfinite(R).all() or np.linalg.eigvalsh(R).min() <= 0.0:
        raise DataError(
            "not-positive-definite",
            "noise must be positive (a positive definite covariance): without it there is no bound.",
        )
    return R


def deviations(fit: Identified | HoldsIdentified, record: Record | Sequence[Record] | Data) -> Identified:
    """The same model with standard deviations of its frequencies and damping ratios.

    They come from the inverse Fisher information at the estimate, with the noise of its residuals (innovations where it
    has a gain; otherwise sensor noise, or the scatter of the residuals where these are far from white). This is the
    scatter of the best estimate: right for a refined model, and a lower bound for others (subspace and ERA damping
    ratios scatter some 1.5 to 4 times as much).

    Parameters
    ----------
    fit : Identified
    record : Record, several, or Data that it was found from
    """
    fit = take_identified(fit)
    assert isinstance(fit, Identified)
    noise = "innovations" if fit.gain is not None and np.any(fit.gain) else "output"
    prepared = prepare_refinement(fit, record, noise, "estimate")
    deviation_method: DeviationMethod = "fisher"
    changes: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    if prepared.innovations:
        predictor, here = prepared.predictor()
        poles, covariance = predictor.modal_covariance(here, fit.dt)
    else:
        model, changes = prepared.model()
        search = prepared.search()
        point = search.evaluate_start(model)
        free = search.find_derivatives(point)[0]
        R = uncertainty.correct_noise(point, free)
        poles, covariance = uncertainty.modal_covariance(point, free, R, fit.dt)
        deviation_method, covariance, more = choose_covariance(search, point, free, R, covariance, fit.dt)
    note = "standard deviations are those of the best estimate from these data (Fisher information at this model)"
    result = add_covariance(fit.add_notes(*changes, *(more or (note,))), poles, covariance)
    return result.replace(deviation_method=deviation_method)


Level = Annotated[float, above_and_below(0.0, 1.0), "share of repetitions in which the interval contains the truth"]


class Intervals(NamedTuple):
    """Lower and upper ends, (k, 2) each."""

    frequencies_hz: FloatArray
    damping_ratios: FloatArray


@checked
def intervals(fit: Identified | HoldsIdentified | ModalBounds, level: Level = 0.95) -> Intervals:
    """Confidence intervals of frequencies [Hz] and damping ratios."""
    from scipy.special import ndtri

    fit = take_identified(fit)
    assert isinstance(fit, Identified | ModalBounds)
    if fit.frequency_deviations_hz is None or fit.damping_deviations is None:
        raise DataError(
            "missing-argument",
            "this model has no standard deviations.",
            Advice("Use {} first.", Call("da.identify.refine"), Call("da.identify.deviations")),
        )
    half = float(ndtri(0.5 + 0.5 * level)) * np.array([-1.0, 1.0])
    f = fit.frequencies_hz[:, None] + half * fit.frequency_deviations_hz[:, None]
    z = fit.damping_ratios[:, None] + half * fit.damping_deviations[:, None]
    return Intervals(f, z)
