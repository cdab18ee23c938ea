"""Figures of identification: labels that never overprint, poles by class, the axis of the band."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text as MatplotlibText

import dalembert as da
from dalembert.identify.auto.mode_classes import assign_poles
from dalembert.identify.subspace.stabilization import LABELS, Stabilization
from dalembert.linear.modes import Modes
from dalembert.view.plots.identification import plot_output_spectra, spread_labels
from tests.helpers.measured_frames import measured
from tests.helpers.repetitions import few


def diagram(hertz: np.ndarray[Any, Any], outputs: int = 2) -> Stabilization:
    """Columns of poles at these frequencies, at the orders 2 to 40, with random shapes."""
    orders = np.repeat(np.arange(2, 41, 2), len(hertz))
    f = np.tile(hertz, 20)
    rng = np.random.default_rng(0)
    shapes = rng.normal(size=(len(hertz), outputs)).astype(complex)
    poles = np.full(len(f), 3)
    modes = Modes(2j * np.pi * hertz - 0.01 * 2 * np.pi * hertz, shapes.T, [f"a{k}" for k in range(outputs)])
    zero = np.zeros(len(hertz))
    return Stabilization(
        orders=orders, frequencies_hz=f, damping_ratios=np.full(len(f), 0.01), labels=poles, mpc=np.ones(len(f)),
        shapes=np.tile(shapes, (20, 1)), mac=np.ones(len(f)), clusters=poles, modes=modes, frequency_means=hertz,
        frequency_spreads=zero, damping_means=zero + 0.01, damping_spreads=zero, counts=poles, method="moesp",
        singular_values=np.ones(3), notes=(), provenance={},
    )  # fmt: skip


@pytest.mark.parametrize("count", few([70, 2, 12, 30]))
def test_labels_of_modes_close_together_do_not_overprint(count: int) -> None:
    """Seventy modes are more than labels fit: some go without, none is printed over another."""
    hertz = np.sort(np.concatenate([np.linspace(5.0, 5.5, count // 2), np.linspace(6.0, 19.0, count - count // 2)]))
    figure = da.plot(diagram(hertz), lowest=4.0, highest=20.0)
    figure.canvas.draw()
    ax = figure.axes[0]
    boxes = [MatplotlibText.get_window_extent(text) for text in ax.texts]  # without the line to the mode
    boxes.sort(key=lambda box: box.x0)
    assert len(boxes) == min(count, 40)  # 72 · 0.8 · 8.5 points wide, 12 each
    assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))
    assert ax.get_xlim() == (4.0, 20.0)


@given(st.lists(st.floats(0.0, 500.0), min_size=1, max_size=40))
def test_places_of_labels_are_apart_in_order_and_inside(wanted: list[float]) -> None:
    places = spread_labels(np.sort(np.array(wanted)), 12.0, 0.0, 500.0)
    assert np.all(np.diff(places) >= 12.0 - 1e-9)
    assert places[0] >= -1e-9 and places[-1] <= 500.0 + 1e-9


def test_poles_have_the_colour_of_the_class_of_their_mode() -> None:
    drawn = diagram(np.array([5.0, 9.0, 14.0]))
    figure = da.plot(drawn, modes=drawn.modes, grades=["sound", "uncertain", "of the fit only"])
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert {"of a sound mode", "of an uncertain mode", "of the fit only", *LABELS} == set(words)
    assert len(figure.axes[0].texts) == 2  # a mode of the fit only has no label


def test_a_pole_belongs_to_the_mode_that_it_shares_frequency_and_shape_with() -> None:
    drawn = diagram(np.array([5.0, 5.05, 14.0]))
    assert assign_poles(drawn, drawn.modes)[:3].tolist() == [0, 1, 2]
    far = Modes(drawn.modes.eigenvalues * 1.03, drawn.modes.shapes, drawn.modes.coordinates)
    assert set(assign_poles(drawn, far)) == {-1}
    near = Modes(drawn.modes.eigenvalues * 1.019, drawn.modes.shapes, drawn.modes.coordinates)
    assert set(assign_poles(drawn, near)) == {0, 1, 2}
    other = Modes(drawn.modes.eigenvalues, drawn.modes.shapes[::-1] * [[1], [-1]], drawn.modes.coordinates)
    assert set(assign_poles(drawn, other)) == {-1}  # square to each other


def test_the_density_of_a_model_has_the_variance_of_its_outputs() -> None:
    """∫ S df = C P Cᵀ + Σ, P the covariance of the states that the innovations drive."""
    from scipy.linalg import solve_discrete_lyapunov

    A = np.array([[0.9, 0.35], [-0.35, 0.9]])
    K, C = np.array([[0.2, 0.0], [0.1, 0.3]]), np.array([[1.0, 0.0], [0.4, -0.7]])
    noise = np.array([[1.0, 0.3], [0.3, 0.5]])
    system = da.StateSpace(A, np.zeros((2, 0)), C, np.zeros((2, 0)), dt=0.1, outputs=["a1", "a2"])
    model = da.identify.Identified(system, method="given", gain=K, innovation=noise)
    w = np.linspace(0.0, np.pi / 0.1, 4001)
    S = model.output_spectra(w)
    assert S is not None
    area = 0.5 * (S[1:] + S[:-1]).sum(axis=0) * (w[1] - w[0]) / (2.0 * np.pi)
    P = solve_discrete_lyapunov(A, K @ noise @ K.T)
    # the trapezoidal rule is exact for a periodic smooth function but for 4000 lines over the width of the peak
    assert np.allclose(area.real, C @ P @ C.T + noise, rtol=1e-6)
    assert np.allclose(S, S.conj().transpose(0, 2, 1))
    assert da.identify.Identified(system, method="given").output_spectra(w) is None


def test_spectra_of_outputs_are_drawn_with_those_of_the_model() -> None:
    quiet = da.identify.auto(measured(1500, noise=0.02).select("a1", "a2", "a3"), order=6, refined=False)
    figure = da.plot(quiet, view="spectra")
    assert len(figure.axes) == 4  # singular values, and three outputs
    low, high = figure.axes[0].get_xlim()
    assert low <= quiet.time_scale.low and high >= quiet.time_scale.high
    assert len(plot_output_spectra(da.identify.spectra(measured(600))).axes) == 5  # without a model
