"""Refinement that leaves no pole on the unit circle.

A pole whose motion does not decay within the record is no mode: output errors grow along a record where forces act
that were not measured, and the likelihood then prefers a motion without end. So a pole must decay by ``resolution``
(nepers) over the longest record, the smallest decay that the data can distinguish from none. A model that the data do
not determine, or whose search did not converge, would differ from one computer to the next. Where a model is such:

1. lower          the orders that the criteria proposed below it, by output errors: the smaller model
2. innovations    the noise may drive the system: the likelihood of prediction errors, orders as proposed
3. drop           the modes that stay on the circle are removed, and the rest is refined again
4. undetermined   the model of the subspace method is kept, and a finding says so
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, problem_of
from dalembert.core.findings import Finding
from dalembert.identify.auto.preparation import Setting
from dalembert.identify.likelihood.refine import refine
from dalembert.identify.model.identified import Identified
from dalembert.identify.records.data import Data
from dalembert.identify.subspace.projections import Projection
from dalembert.record import Record


def find_endless(model: Identified, samples: int, resolution: float = 0.1) -> FloatArray:
    """Frequencies [Hz] of the modes that do not decay within a number of samples; growing ones are included.

    resolution : decay of a pole over the longest record [nepers]: a tone that loses 10 % over the record is a tone
    within the noise of all records tried; modes of 0.5 % at 4 Hz lose 14 nepers in 117 s.
    """
    modes = model.underdamped_modes()
    still = -modes.eigenvalues.real * samples * model.dt < resolution
    return np.asarray(modes.frequencies_hz[still])


def refine_inside(
    found: Identified, training: Sequence[Record], data: Data, projection: Projection, setting: Setting,
    orders: Iterable[int], decisions: list[str], exact_fit: float = 100.0 - 1e-5,
    largest_search: int = 800, rounds: int = 3, largest_order: int = 30,
) -> tuple[Identified, list[Finding]]:  # fmt: skip
    """The model after maximum likelihood without a pole on the circle, or unchanged; and findings.

    orders : those of the criteria, tried where the model of the order chosen does not settle
    exact_fit : percent of fit above which data are free of noise, and refinement is not needed
    largest_search : largest number of unknowns of a search (states times drives, records and one): 800 take 0.07 s per
    linear system, and the time grows with the third power.
    rounds : rounds of dropping.
    largest_order : largest further order of the innovations form: fifteen modes; a search takes seconds beyond.
    """
    if setting.fit(found, training).mean > exact_fit:
        decisions.append("did not refine it: the data are noise-free, the model reproduces them exactly")
        return found, []
    noise = "output" if setting.inputs else "innovations"
    longest = max(data.lengths)
    if _count_unknowns(found.order, data, noise) > largest_search:
        decisions.append(
            f"did not refine it: a search of {_count_unknowns(found.order, data, noise)} unknowns would take minutes. "
            "The model has no standard deviations; choose fewer outputs, or a lower order"
        )
        return found, []
    better = refine_once(found, training, noise, decisions)
    if is_settled(better, longest):
        return better, []
    hertz = find_endless(better, longest)
    if noise == "output":
        why = _describe_unsettled(better, hertz)
        for order in sorted({k for k in orders if k < found.order}, reverse=True):
            trial = refine.quiet(setting.identify(data, projection, order), training, noise=noise)
            if is_settled(trial, longest):
                decisions.append(f"returned to order {order}, refined by maximum likelihood of output errors: {why}")
                return trial, []
        best: Identified | None = None
        for order in sorted({found.order, *(k for k in orders if k <= largest_order)}):
            if _count_unknowns(order, data, "innovations") > largest_search:
                continue
            try:
                begin = setting.identify(data, projection, order)
                trial = refine.quiet(begin, training, noise="innovations")
            except (DataError, np.linalg.LinAlgError):
                continue
            if not trial.provenance.get("converged", True):
                break  # nor would the search of a larger one end
            if not is_settled(trial, longest) or trial.system is begin.system:
                continue
            if best is None or _cost(trial) < _cost(best):
                best = trial
        if best is not None:
            decisions.append(
                f"refined it again by maximum likelihood of its prediction errors, order {best.order}: {why}, so other "
                "forces act than were measured"
            )
            return best, [_describe_forces(hertz)]
    for _ in range(rounds):
        # the poles of a search that did not end are chance
        smaller = drop_modes(better, hertz) if better.provenance.get("converged", True) else None
        if smaller is None:
            break
        decisions.append(f"removed the motion at {_join(hertz)} Hz, which does not decay within the record: no mode")
        better = refine_once(smaller, training, noise, decisions)
        hertz = find_endless(better, longest)
        if not len(hertz):
            break
    if is_settled(better, longest):
        return better, []
    decisions.append(f"did not refine it: the data do not determine all parameters of a model of order {found.order}")
    return found, [_describe_undetermined(found.order)]


def is_determined(model: Identified, condition: float = 1e6) -> bool:
    """Whether data with sensor noise determine the parameters of a refined model.

    condition : condition number of the information on the parameters, scaled to a unit diagonal, from which on a model
    is not determined: sound models have 1 to 100, those that rounding can change 1e10 and more.
    """
    return float(model.provenance.get("condition", 1.0)) < condition


def is_settled(model: Identified, samples: int) -> bool:
    """Whether a refined model is the one that the data determine: a converged search, and modes that decay."""
    converged = bool(model.provenance.get("converged", True)) and is_determined(model)
    return converged and model.system.is_stable and not len(find_endless(model, samples))


def _count_unknowns(order: int, data: Data, noise: str) -> int:
    """Unknowns of a search: initial states of every record, poles, and a drive per input (and output)."""
    return order * (data.nu + (data.ny if noise == "innovations" else 0) + data.segments + 1)


def _cost(model: Identified) -> float:
    """Prediction error criterion with the penalty of its parameters (AIC)."""
    system = model.system
    unknowns = system.nx * (system.nu + 2 * system.ny) + system.nu * system.ny
    return float(model.provenance["cost after"]) + unknowns


def refine_once(found: Identified, training: Sequence[Record], noise: str, decisions: list[str]) -> Identified:
    """The model after maximum likelihood, or unchanged."""
    try:
        better = refine.quiet(found, training, noise=noise)
    except (DataError, np.linalg.LinAlgError) as error:
        decisions.append(f"could not refine it ({problem_of(error).rstrip('.')}); it has no standard deviations")
        return found
    if better.system is found.system:
        decisions.append("kept it: refinement by maximum likelihood found nothing more likely")
        return better
    how = "output errors (simulation)" if noise == "output" else "prediction errors"
    white = better.deviation_method == "fisher"
    spread = "the curvature at its maximum" if white else "the scatter of its residuals (they are far from white)"
    decisions.append(
        f"refined it by maximum likelihood of its {how}, {better.provenance['iterations']} iterations; {spread} gives "
        "the standard deviations"
    )
    return better.replace(
        findings=[finding for finding in better.findings if finding.code != "poles-at-stability-limit"]
    )


def drop_modes(model: Identified, hertz: FloatArray, same: float = 1e-9) -> Identified | None:
    """The model without the modes at these frequencies, in modal states; None where nothing would be left.

    same : relative distance of a frequency from one that is to be dropped: both come from the same eigenvalues.
    """
    system = model.system
    values, vectors = np.linalg.eig(system.A)
    values = values.astype(np.complex128)
    f = np.abs(np.log(np.where(values == 0.0, 1e-300, values))) / (2.0 * np.pi * model.dt)
    gone = np.array([bool(len(hertz)) and np.min(np.abs(hertz - hz)) <= same * hz for hz in f])
    stays = np.flatnonzero(~gone)
    if not len(stays) or not gone.any():
        return None
    rows = np.linalg.inv(vectors)[stays]
    right = vectors[:, stays]
    # real coordinates of the span of the modes that stay
    basis = np.linalg.svd(np.hstack([right.real, right.imag]), full_matrices=False)[0][:, : len(stays)]
    onto = np.real(basis.T @ right @ rows)
    reduced = system.replace(
        A=onto @ system.A @ basis, B=onto @ system.B, C=system.C @ basis, D=system.D,
        states=[f"x{i + 1}" for i in range(len(stays))],
    )  # fmt: skip
    gain = None if model.gain is None else onto @ model.gain
    return model.replace(system=reduced, gain=gain, findings=model.findings)


def _describe_unsettled(model: Identified, hertz: FloatArray) -> str:
    """Why a model is not the one that the data determine."""
    if len(hertz):
        return f"with sensor noise alone the motion at {_join(hertz)} Hz would never decay"
    return f"with sensor noise alone the data do not determine the parameters of order {model.order}"


def _describe_forces(hertz: FloatArray) -> Finding:
    problem = (
        f"with noise of the sensors alone the motion at {_join(hertz)} Hz would never decay: forces act that were not "
        "measured. The model of prediction errors, which allows for them, was taken; its damping ratios are less "
        "certain."
    )
    return Finding("unmeasured-forces", problem, evidence={"hertz": hertz.tolist()})


def _describe_undetermined(order: int) -> Finding:
    problem = (
        f"the data do not determine all parameters of a model of order {order}, nor of a smaller one that fits: the "
        "inputs move too few frequencies, the outputs contain too little else, or no model of this order describes "
        "them, and the search for its parameters does not end. The model of the subspace method was kept, without "
        "standard deviations."
    )
    return Finding("undetermined-model", problem, evidence={"order": order})


def _join(values: FloatArray) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
