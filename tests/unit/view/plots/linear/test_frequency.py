"""Responses that are nothing but rounding, peaks and axes, at the edges of their thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.view.plots.linear.frequency import _draw_magnitudes, _mark_peaks, _zeros


@pytest.mark.parametrize(("size", "zero"), [(3e-13, True), (3e-12, False)])
def test_a_response_of_1e_12_of_another_of_its_unit_is_zero(size, zero):
    values = np.array([[[1.0], [size]]], complex)
    response = FrequencyResponse([1.0], values, ("f",), ("a", "b"))
    pairs = [("a", "f"), ("b", "f")]
    assert (pairs[1] in _zeros(response, {"": list(enumerate(pairs))})) == zero


class Canvas:
    """Axes that keep what is drawn."""

    def __init__(self) -> None:
        self.dots: list[tuple[float, ...]] = []
        self.texts: list[str] = []

    def plot(self, x: object, y: object, *args: object, **how: object) -> None:
        self.dots = list(zip(x, y))

    def annotate(self, text: str, *args: object, **how: object) -> None:
        self.texts.append(text)


@pytest.mark.parametrize(("valley", "marked"), [(0.52, 0), (0.48, 1)])
def test_a_peak_is_marked_that_is_twice_as_high_as_its_valleys(valley, marked):
    # a line of equal magnitudes around the peak: no interpolation makes it higher than it is
    values = np.array([valley] * 5 + [1.0] * 3 + [valley] * 5, complex)[:, None, None]
    response = FrequencyResponse(np.arange(1.0, 14.0), values, ("f",), ("a",))
    canvas = Canvas()
    _mark_peaks(canvas, response, [("a", "f")], "log", "rad/s")
    assert len(canvas.dots) == marked


@pytest.mark.parametrize(("frequency", "names"), [(1.029, 1), (1.033, 2)])
def test_peaks_within_three_percent_have_one_name(frequency, names):
    found = [SimpleNamespace(frequency=w, magnitude=1.0 / w) for w in (1.0, frequency)]
    canvas = Canvas()
    _mark_peaks(canvas, SimpleNamespace(peaks=lambda *pair, prominence: found), [("a", "f")], "log", "rad/s")
    assert len(canvas.dots) == 2 and len(canvas.texts) == names


@pytest.mark.parametrize(("smallest", "bottom"), [(1e-8, 0.7e-8), (1e-10, 1e-9)])
def test_a_logarithmic_axis_ends_a_billionth_below_the_largest_magnitude(smallest, bottom):
    response = FrequencyResponse([1.0, 2.0], np.array([1.0, smallest], complex)[:, None, None], ("f",), ("a",))
    figure = Figure()
    ax = figure.add_subplot()
    _draw_magnitudes(ax, response, [(0, ("a", "f"))], np.array([1.0, 2.0]), np.arange(2), "log", set())
    assert ax.get_ylim()[0] == pytest.approx(bottom)
