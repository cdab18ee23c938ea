"""Numbers that decide, each with a value on either side: the decision is no inside and yes outside."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.auto.mode_classes import _find_hard_reasons, find_harmonics, weigh_evidence
from dalembert.identify.auto.nonlinearity import _make_backbone
from dalembert.identify.auto.settled_poles import find_endless, is_determined
from dalembert.identify.auto.time_scale import TimeScale
from dalembert.identify.auto.validation import find_duplicates
from dalembert.identify.likelihood.identifiability import judge_information
from dalembert.identify.likelihood.modal_likelihood import modes_decay, residuals_vanish
from dalembert.identify.likelihood.parametrisation import modal_model
from dalembert.identify.machine.fitted import find_lost_outputs
from dalembert.identify.machine.initial_states import find_spreads
from dalembert.identify.model.identified import is_oscillation
from dalembert.identify.output_only.decomposition import split_matrices
from dalembert.identify.realization.arx_regression import _cholesky
from dalembert.identify.realization.hankel import unstable_model
from dalembert.identify.realization.markov_parameters import equalize_channels
from dalembert.identify.realization.okid import _lost_inputs
from dalembert.identify.records.data import Data
from dalembert.identify.setups.poser import find_nodes
from dalembert.identify.spectral.machine_harmonics import find_base
from dalembert.identify.subspace.innovation_form import _noise_free
from dalembert.identify.subspace.subspace import check_rank, note_instability
from tests.helpers.identified_model import model


def names(**values: Any) -> Any:
    return SimpleNamespace(**values)


def grade(lacks: int = 0, share: float = 0.0, ratio: float = 0.01, **deviations: Any) -> str:
    """Class of a mode at 5 Hz that lacks some of three kinds of evidence."""
    given = model(5.0, ratio=ratio, **deviations)
    shares = {str(k): np.array([share if k < lacks else 1.0]) for k in range(3)}
    return weigh_evidence(given, given.underdamped_modes(), [[]], shares)[0].grade


def reasons(**options: float) -> list[str]:
    given, y = model(5.0, **options), (np.ones((9, 1)),)
    data: Any = names(lengths=(10_000,), nu=1, u=(np.zeros((9, 0)),), y=y)
    return _find_hard_reasons(given, given.underdamped_modes(), data, None)[0]


def deviates(f: float, z: float) -> bool:
    return grade(frequency_deviations_hz=[5.0 * f], damping_deviations=[0.01 * z]) == "uncertain"


def decaying(decay: float) -> Any:
    one = np.ones((1, 1))
    return modal_model(np.array([[np.exp(-decay)]]), one, one, np.zeros((1, 1)), np.zeros((1, 1), bool), 1)[0]


def bends(change: float = 0.05, ratio: float = 2.0, deviation: float = 1e-6, hertz: float = 10.0) -> Any:
    """Backbone of 10 Hz in five parts whose frequency grows with the squared level."""
    levels = np.linspace(1.0, ratio, 5)
    modes = [
        names(frequencies_hz=np.array([10.0 * (1.0 + change * (level**2 - 1.0) / (ratio**2 - 1.0))]),
              damping_ratios=np.array([0.01]), frequency_deviations_hz=np.array([deviation]),
              damping_deviations=np.array([1e-4]))
        for level in levels
    ]  # fmt: skip
    return _make_backbone(hertz, 0, list(zip(levels, modes, strict=True)))


def touched(entry: float) -> bool:
    blind = np.array([1.0, entry]) / np.hypot(1.0, entry)
    rows = np.array([100.0 * np.array([-blind[1], blind[0]]), 0.0 * blind])
    return bool(np.isinf(judge_information(rows, ["a", "b"]).covariance[1, 1]))


def lost(percent: float, correlation: float) -> bool:
    fit: Any = names(outputs=("y",), percent=np.array([percent]))
    return bool(find_lost_outputs(fit, (np.array([[correlation], [1.0]]),)))


def turned(angle: float) -> list[np.ndarray]:
    return [np.array([1.0, 0.0, 0.0]), np.array([np.cos(angle), np.sin(angle), 0.0])]


def gram(condition: float) -> np.ndarray:
    """Two regressors of correlation c: the condition number is (1 + c) / (1 - c)."""
    c = 1.0 - 2.0 / (condition + 1.0)
    return np.array([[1.0, c, 0.0], [c, 1.0, 0.0], [0.0, 0.0, 1.0]])


def past_energy(share: float) -> Data:
    u = np.concatenate([np.full(10, np.sqrt(share)), np.full(10, np.sqrt(1.0 - share))])[:, None]
    return Data((u,), (u,), 0.1, ("force",), ("a1",))


def tone(decay: float) -> Any:
    modes = names(eigenvalues=np.array([-decay / 100.0 + 1j]), frequencies_hz=np.array([1.0]))
    return names(underdamped_modes=lambda: modes, dt=0.1)


SAME = np.array([1.0, 2.0, -1.0])
MOMENTS: Any = [names(ww=np.diag([5.0, 2.0]), nu=1), names(ww=np.diag([5.0, 1.0]), nu=1)]
Limit = tuple[Callable[[float], Any], float, float]
LIMITS: dict[str, Limit] = {
    # classes of modes
    "deviation of a frequency": (lambda x: deviates(x, 0.0), 0.99e-2, 1.01e-2),
    "deviation of a damping ratio": (lambda x: deviates(0.0, x), 0.327, 0.333),
    "share of orders": (lambda x: grade(1, x) == "sound", 0.59, 0.61),
    "kinds of evidence that lack": (lambda x: grade(int(x)) == "of the fit only", 2, 3),
    "heavy damping": (lambda x: "heavily-damped" in reasons(ratio=x), 0.297, 0.303),
    "decay within the record": (lambda x: not len(find_endless(tone(x), 1000)), 0.099, 0.101),
    "distance of a harmonic":
        (lambda x: not find_harmonics(np.array([4, 8 * (1 + x)]), np.array([1, 0.1])), 4.9e-3, 5.1e-3),
    "strength of a harmonic": (lambda x: not find_harmonics(np.array([4.0, 8.0]), np.array([1.0, x])), 0.198, 0.202),
    "modes below the band":
        (lambda x: TimeScale(4.0, 10.0, 100.0, 5, None, True).excites(np.array([x]))[0], 3.59, 3.61),
    "modes above the band":
        (lambda x: not TimeScale(4.0, 10.0, 100.0, 5, None, True).excites(np.array([x]))[0], 10.9, 11.1),
    "condition of a determined model": (lambda x: not is_determined(names(provenance={"condition": x})), 0.9e6, 1.1e6),
    "frequencies of duplicates":
        (lambda x: not find_duplicates(model(5.0, 5.0 / (1 - x), shapes=[SAME, SAME])), 0.0297, 0.0303),
    "shapes of duplicates":
        (lambda x: find_duplicates(model(5.0, 5.05, shapes=turned(np.arccos(np.sqrt(x))))), 0.979, 0.981),
    # backbones
    "change of a frequency": (lambda x: bends(change=x).significant, 0.99e-3, 1.01e-3),
    "ratio of levels": (lambda x: bends(ratio=x) is not None, 1.49, 1.51),
    "frequency of a part": (lambda x: bends(0.0, hertz=10.0 / (1.0 + x)) is None, 0.099, 0.101),
    "deviation of a part": (lambda x: bends(0.0, deviation=x) is None, 0.199, 0.201),
    # likelihood and machines
    "entry of an undetermined direction": (touched, 0.9e-6, 1.1e-6),
    "decay over the shortest record":
        (lambda x: modes_decay(decaying(x / 100), [names(count=1000), names(count=100)]), 0.0495, 0.0505),
    "share of residuals": (lambda x: not residuals_vanish(names(ee=np.array([[3.0 * x]])), MOMENTS), 0.99e-4, 1.01e-4),
    "fit of an output": (lambda x: not lost(x, 0.9), 49.9, 50.1),
    "correlation of errors": (lambda x: lost(40.0, x), 0.49, 0.51),
    "spread of an output":
        (lambda x: find_spreads(names(runs=[names(y=np.array([[1 - x], [1 + x]]))]))[0] < 0.5, 0.9e-12, 1.1e-12),
    # realizations, spectra, set-ups
    "pole that oscillates": (lambda x: is_oscillation(np.array([-1.0 + 1j * x]), 0.1)[0], 3e-10, 3e-9),
    "pole that grows": (lambda x: unstable_model(np.array([[1.0 + x]])), 3e-10, 3e-9),
    "pole that grows, noted": (lambda x: note_instability(np.array([[1.0 + x]])), 3e-10, 3e-9),
    "energy lost in the past": (lambda x: _lost_inputs(past_energy(x), 10), 0.49, 0.51),
    "condition of a Gram matrix": (lambda x: _cholesky(gram(x), np.arange(3), 1, None) is None, 0.8e10, 1.25e10),
    "power of a second motion":
        (lambda x: split_matrices(np.diag([1, x]).astype(complex)[None])[1][0, :, 1].any(), 0.9e-12, 1.1e-12),
    "multiple of a base": (lambda x: find_base(np.array([5.0, 10.0 * (1.0 + x)])) is None, 1.9e-3, 2.1e-3),
    "motion of a node": (lambda x: not find_nodes(np.ones((3, 1)), np.array([[x]]))[0], 0.0999, 0.1001),
    "innovations of an output": (lambda x: not _noise_free(np.diag([1.0, x**2])), 0.99e-5, 1.01e-5),
    "singular value of a state":
        (lambda x: not check_rank(names(hankel=names(rows=30, ny=1), values=np.array([1, x])), 2), 0.9e-12, 1.1e-12),
    "sizes of channels": (lambda x: equalize_channels(np.array([[[1.0], [x]]]))[1].max() > 1.0, 29.9, 30.1),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_decides_where_it_says(name: str) -> None:
    decide, inside, outside = LIMITS[name]
    assert not decide(inside)
    assert decide(outside)


def test_a_real_and_an_alternating_pole_do_not_oscillate() -> None:
    nyquist = np.array([-1.0 + 10j * np.pi * (1.0 - x) for x in (3e-10, 3e-9)])
    assert is_oscillation(nyquist, 0.1).tolist() == [False, True]
