"""Shaped motions: no vibration at the mode, and how fast it grows beside it."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from tests.helpers.robot_arms import two_links


def modes_at(*poles: complex) -> da.linear.Modes:
    """Modes with these poles, of masses of one kilogram."""
    stiffness, damping = np.diag(np.abs(poles) ** 2), np.diag([-2.0 * pole.real for pole in poles])
    return da.SecondOrder(M=np.eye(len(poles)), C=damping, K=stiffness).modes()


def pole_of(hertz: float, ratio: float = 0.0) -> complex:
    omega = 2 * np.pi * hertz
    return complex(-ratio * omega, omega * np.sqrt(1 - ratio**2))


def motion() -> da.Record:
    return da.tree.quintic(two_links(), {"shoulder": [0.5, 2.0], "elbow": [0.0, -1.0]}, 0.8)


def vibration(record: da.Record, pole: complex, name: str = "shoulder.acceleration") -> float:
    """|∫ a(t) e^(-s t) dt| e^(Re s T): what an oscillator with this pole keeps, by five points of Gauss an interval.

    Accelerations between the samples are those of the polynomials of degree five through all channels.
    """
    from scipy.interpolate import BPoly

    stem = name.removesuffix("acceleration")
    values = np.column_stack([record[f"{stem}{kind}"] for kind in ("angle", "rate", "acceleration")])
    acceleration = BPoly.from_derivatives(record.time, values).derivative(2)
    points, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(record.time) / 2
    t = record.time[:-1, None] + half[:, None] * (1 + points)
    return float(np.abs(np.sum(half[:, None] * weights * acceleration(t) * np.exp(pole * (record.time[-1] - t)))))


@pytest.mark.parametrize("ratio", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("kind", ["zv", "zvd"])
def test_zv_and_zvd_leave_no_vibration_of_the_mode(kind: str, ratio: float) -> None:
    pole = pole_of(2.5, ratio)
    shaped = da.tree.shape_input(motion(), modes_at(pole), kind)
    assert sum(shaped.statistics["amplitudes"]) == pytest.approx(1.0, abs=1e-15)
    assert shaped.statistics["residual"] < 1e-14
    # copies are whole intervals apart: the sum of their polynomials is that through its samples
    assert vibration(shaped, pole) < 1e-11 * vibration(motion(), pole.imag * 1j)
    for name, end in (("shoulder", 2.0), ("elbow", -1.0)):
        assert shaped[f"{name}.angle"][-1] == pytest.approx(end, abs=1e-12)


@pytest.mark.parametrize("ratio", [0.0, 0.05])
def test_ei_leaves_its_tolerance_at_the_mode_and_nothing_on_both_sides(ratio: float) -> None:
    pole = pole_of(2.5, ratio)
    delays, amplitudes = copies("ei", pole, tolerance=0.08)
    assert left(delays, amplitudes, pole) == pytest.approx(0.08, rel=1e-12)
    shares = np.array([left(delays, amplitudes, factor * pole) for factor in np.linspace(0.7, 1.3, 601)])
    sides = [shares[:300].min(), shares[301:].min()]
    # on the line of equal damping ratios the zeros are exact without damping only; a grid of 0.1 % beside them
    assert max(sides) < (1e-3 if ratio == 0.0 else 0.02)
    assert shares[200:400].max() < 0.1  # the hump between them is flat


def copies(kind: str, pole: complex, **options: float) -> tuple[FloatArray, FloatArray]:
    found = da.tree.shape_input(motion(), modes_at(pole), kind, **options).statistics
    return np.array(found["delays"]), np.array(found["amplitudes"])


def left(delays: FloatArray, amplitudes: FloatArray, pole: complex) -> float:
    """The share of vibration after impulses, by the sum of their sines and cosines (Singer and Seering 1990)."""
    decay, omega = -pole.real, pole.imag
    C = np.sum(amplitudes * np.exp(decay * delays) * np.cos(omega * delays))
    S = np.sum(amplitudes * np.exp(decay * delays) * np.sin(omega * delays))
    return float(np.exp(-decay * delays[-1]) * np.hypot(C, S))


def test_ei_is_refused_where_it_would_overshoot() -> None:
    """Its middle copy is (1 - v)/2 of them: below zero for a mode that dies out by itself."""
    assert min(copies("ei", pole_of(2.5, 0.5), tolerance=0.05)[1]) > 0.0
    for ratio in (0.55, 0.8):
        with pytest.raises(DataError, match="overshoot") as error:
            da.tree.shape_input(motion(), modes_at(pole_of(2.5, ratio)), "ei")
        assert error.value.code == "out-of-range"


@pytest.mark.parametrize(("kind", "slope"), [("zv", 1), ("zvd", 2)])
def test_an_error_of_the_frequency_counts_with_the_order_of_the_shaper(kind: str, slope: int) -> None:
    """V(ω) has a zero of this order: half the error leaves 1/2 or 1/4."""
    pole = pole_of(2.5, 0.02)
    delays, amplitudes = copies(kind, pole)
    shares = [left(delays, amplitudes, pole + 1j * pole.imag * error) for error in (2e-4, 1e-4)]
    assert shares[0] / shares[1] == pytest.approx(2.0**slope, rel=1e-3)  # the next term is 1e-4 of it


def test_several_modes_are_shaped_together() -> None:
    poles = [pole_of(2.5, 0.01), pole_of(7.3, 0.03)]
    shaped = da.tree.shape_input(motion(), modes_at(*poles), lowest=2)
    assert len(shaped.statistics["delays"]) == 9
    assert shaped.statistics["residual"] < 1e-14
    # delays of the second mode fall between samples, where polynomials through them replace the copies: 1e-7
    for pole in poles:
        assert vibration(shaped, pole) < 1e-6 * vibration(motion(), pole)


def test_of_several_poses_the_mean_is_shaped_and_the_rest_is_told() -> None:
    poses = [modes_at(pole_of(2.4)), modes_at(pole_of(2.6))]
    shaped = da.tree.shape_input(motion(), poses, "zvd")
    assert shaped.statistics["delays"][1] == pytest.approx(0.5 / 2.5)
    # cos²(π f / 2 f₀) of two delayed halves
    assert shaped.statistics["residual"] == pytest.approx(np.cos(np.pi / 2 * 2.6 / 2.5) ** 2, rel=1e-9)


def test_a_motion_that_does_not_end_at_rest_and_modes_that_do_not_vibrate_are_refused() -> None:
    running = motion().between(0.0, 0.4)
    rigid = da.SecondOrder(M=[[1.0]], K=[[0.0]]).modes()
    refused = [
        (running, modes_at(pole_of(2.0)), "not-at-rest"),
        (motion(), [], "empty"),
        (motion(), rigid, "no-modes"),
        (motion(), 2.5, "wrong-type"),
        (motion(), [2.5], "wrong-type"),
        (motion(), modes_at(pole_of(2.0, -0.01)), "unstable"),
        (motion().select("shoulder.angle"), modes_at(pole_of(2.0)), "missing-channel"),
    ]
    for record, modes, code in refused:
        with pytest.raises(DataError) as error:
            da.tree.shape_input(record, modes)  # type: ignore[arg-type]
        assert error.value.code == code
