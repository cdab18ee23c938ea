"""Backbones at the edges of their thresholds; whole records: tests/reference/test_identify_real_life.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.auto import nonlinearity
from dalembert.identify.auto.nonlinearity import (
    THRESHOLDS,
    _fit_line,
    _make_backbone,
    _regress_forces,
    _simulate_forces,
    decide_nonlinearity,
    find_backbones,
)
from dalembert.identify.records.data import Data
from dalembert.linear import StateSpace


def parts(change: float, deviation: float, ratio: float = 2.0) -> list[tuple[float, Any]]:
    """A mode of 10 Hz in five parts whose frequency grows with the squared level, up to this relative change."""
    levels = np.linspace(1.0, ratio, 5)
    grown = (levels**2 - 1.0) / (ratio**2 - 1.0)
    return [
        (level, SimpleNamespace(
            frequencies_hz=np.array([10.0 * (1.0 + change * share)]), damping_ratios=np.array([0.01]),
            frequency_deviations_hz=np.array([deviation]), damping_deviations=np.array([1e-4])))
        for level, share in zip(levels, grown, strict=True)
    ]  # fmt: skip


def bends(change: float, deviation: float, ratio: float = 2.0) -> bool:
    found = _make_backbone(10.0, 0, parts(change, deviation, ratio))
    return found is not None and found.significant


@pytest.mark.parametrize(("factor", "above"), [(0.99, False), (1.01, True)])
def test_the_change_of_a_frequency_over_the_level(factor: float, above: bool) -> None:
    assert bends(factor * THRESHOLDS.change, 1e-6) is above
    assert bends(0.05, 1e-6, factor * THRESHOLDS.varies) is above


@pytest.mark.parametrize(("factor", "above"), [(0.99, False), (1.01, True)])
def test_the_significance_of_a_slope(factor: float, above: bool) -> None:
    levels = np.linspace(1.0, 2.0, 5) ** 2
    error = _fit_line(levels, np.full(5, 10.0), np.full(5, 0.01))[1]
    change = factor * THRESHOLDS.slope * error * 3.0 / 10.0
    assert bends(change, 0.01) is above


@pytest.mark.parametrize(("off", "same"), [(0.099, True), (0.101, False)])
def test_a_frequency_of_a_part_off_by_a_tenth_is_of_another_mode(off: float, same: bool) -> None:
    assert (_make_backbone(10.0 / (1.0 + off), 0, parts(0.0, 1e-6)) is not None) is same


@pytest.mark.parametrize(("deviation", "known"), [(0.199, True), (0.201, False)])
def test_a_frequency_of_a_part_known_to_two_per_cent_counts(deviation: float, known: bool) -> None:
    assert (_make_backbone(10.0, 0, parts(0.0, deviation)) is not None) is known


# ---- forces of nonlinear elements


def oscillators(modes: int, outputs: int) -> Any:
    """Modes of different sizes, the first the strongest, each seen by all outputs in its own way."""
    z = 0.95 * np.exp(1j * np.linspace(0.3, 2.5, modes))
    A = np.kron(np.diag(z.real), np.eye(2)) + np.kron(np.diag(z.imag), np.array([[0.0, 1.0], [-1.0, 0.0]]))
    B = np.repeat(np.geomspace(1.0, 0.1, modes), 2)[:, None]
    C = np.random.default_rng(0).standard_normal((outputs, 2 * modes))
    return SimpleNamespace(system=StateSpace(A, B, C, np.zeros((outputs, 1)), dt=0.1), dt=0.1)


@pytest.mark.parametrize(("modes", "poles"), [(6, 6), (7, 6)])
def test_forces_act_through_the_six_strongest_modes(modes: int, poles: int) -> None:
    assert len(_simulate_forces(oscillators(modes, 3), np.random.default_rng(1).standard_normal((200, 1)))[0]) == poles


@pytest.mark.parametrize(("outputs", "motions"), [(1, 1), (2, 2), (3, 2)])
def test_forces_are_functions_of_the_two_strongest_motions(outputs: int, motions: int) -> None:
    """Four functions of each: d², d³, d|d|, v|v|."""
    u = np.random.default_rng(1).standard_normal((200, 1))
    assert _simulate_forces(oscillators(4, outputs), u)[1].shape == (200, 4 * motions)


U, F, G = np.random.default_rng(2).standard_normal((3, 400, 1))


def explained(y: np.ndarray, forces: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> float:
    """Share of an output without linear part that the forces explain, over chance: some 100 where they contain it."""
    monkeypatch.setattr(nonlinearity, "_simulate_forces", lambda model, u: (np.array([0.5j]), forces))
    monkeypatch.setattr(nonlinearity, "_filter", lambda signals, poles: np.zeros((len(signals), 0)))
    model: Any = SimpleNamespace(
        system=SimpleNamespace(is_stable=True), _delay_columns=lambda u: u, _simulate=lambda u, y: np.zeros_like(y)
    )
    return _regress_forces(model, Data((U,), (y,), 0.1, ("u",), ("y",)), None)[1]


@pytest.mark.parametrize(("lag", "left"), [(8, False), (9, True)])
def test_the_effect_of_an_input_up_to_eight_samples_ago_is_linear(
    lag: int, left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an output that is the force itself, which is an input of so many samples ago, and a little noise."""
    late = np.roll(U, lag, axis=0)
    assert (explained(late + 0.1 * G, late + 0.1 * F, monkeypatch) > 10.0) is left


@pytest.mark.parametrize(("size", "used"), [(0.9e-12, False), (1.1e-12, True)])
def test_a_force_of_1e_12_of_the_largest_is_nothing(size: float, used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of one length, to a few per cent that the inputs explain."""
    small = G * np.linalg.norm(F) / np.linalg.norm(G)
    assert (explained(G, np.hstack([F, size * small]), monkeypatch) > 10.0) is used


@pytest.mark.parametrize(("part", "used"), [(0.9e-8, False), (1.1e-8, True)])
def test_a_part_of_1e_8_of_a_force_that_others_do_not_hold_is_rounding(
    part: float, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = G * np.linalg.norm(F) / np.linalg.norm(G)
    assert (explained(G, np.hstack([F, F + part * own]), monkeypatch) > 10.0) is used


@pytest.mark.parametrize(
    ("level", "ratio", "lines", "reasons"),
    [
        (0.5, 1.39, 0.0, ()),
        (0.5, 1.41, 0.0, ("residuals",)),
        (0.99e-3, 5.0, 0.99e-3, ()),
        (1.01e-3, 5.0, 0.99e-3, ("residuals",)),
        (0.0, 0.0, 1.01e-3, ("lines",)),
    ],
)
def test_distortion_of_a_thousandth_and_1_4_times_chance_is_not_linear(
    level: float, ratio: float, lines: float, reasons: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nonlinearity, "_regress_forces", lambda *given: (level, ratio))
    monkeypatch.setattr(nonlinearity, "find_backbones", lambda *given: [])
    seen: Any = SimpleNamespace(seconds=1.0, distortion=lines)
    model: Any = None
    assert decide_nonlinearity(model, [], Data((U,), (F,), 0.1, ("u",), ("y",)), seen).reasons == reasons


@pytest.mark.parametrize(
    ("change", "deviation", "ratio", "above"),
    [
        (0.99e-3, 1e-6, 2.0, False),
        (1.01e-3, 1e-6, 2.0, True),  # a thousandth of the frequency
        (0.05, 1e-6, 1.49, False),
        (0.05, 1e-6, 1.51, True),  # over levels in a ratio of 1.5
    ],
)
def test_a_backbone_bends_by_a_thousandth_over_a_ratio_of_levels_of_one_and_a_half(
    change: float, deviation: float, ratio: float, above: bool
) -> None:
    assert bends(change, deviation, ratio) is above


@pytest.mark.parametrize(("deviations", "above"), [(4.95, False), (5.05, True)])
def test_a_backbone_bends_by_five_standard_deviations(deviations: float, above: bool) -> None:
    error = _fit_line(np.linspace(1.0, 2.0, 5) ** 2, np.full(5, 10.0), np.full(5, 0.01))[1]
    assert bends(deviations * error * 3.0 / 10.0, 0.01) is above


@pytest.mark.parametrize(
    ("hertz", "order", "count", "tried"),
    [
        (1.0, 2, 749, 0),
        (1.0, 2, 750, 3),  # 25 periods in each of three parts of 250 samples
        (10.0, 20, 1199, 0),
        (10.0, 20, 1200, 3),  # 20 samples per state
    ],
)
def test_a_part_of_a_backbone_has_25_periods_and_20_samples_per_state(
    hertz: float, order: int, count: int, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def refined(model: Any, data: Data, **options: Any) -> Any:
        calls.append(data.samples)
        return SimpleNamespace(frequency_deviations_hz=None, damping_deviations=None)

    monkeypatch.setattr(nonlinearity, "refine", SimpleNamespace(quiet=refined))
    modes = SimpleNamespace(frequencies_hz=np.array([hertz]))
    model: Any = SimpleNamespace(
        underdamped_modes=lambda: modes, system=SimpleNamespace(is_stable=True), dt=0.1, order=order, noise_model=None
    )
    y = np.linspace(1.0, 9.0, count)[:, None]
    find_backbones(model, [0], Data((y,), (y,), 0.1, ("u",), ("y",)))
    assert len(calls) == tried
