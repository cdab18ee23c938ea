"""Figures and the page of a synthesis."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control import PoleRegion, hinf
from dalembert.view.plots.linear.synthesis import impulse_response
from tests.helpers.robust_plants import spring_chain


@pytest.fixture(scope="module")
def design():
    return hinf(spring_chain(2), outputs="reading", inputs="push")


@pytest.mark.spec("001-C62")
@pytest.mark.parametrize("view", ["gain", "poles", "impulse", "bode", "nyquist"])
def test_every_view_draws_a_family(design, view):
    plant = design.system
    family = [plant, plant.replace(A=1.01 * plant.A)]
    one, two = (da.plot(design, view=view, models=models) for models in (None, family))
    assert "2 models" in two.get_suptitle() + two.axes[0].get_title(loc="left")
    assert sum(len(ax.lines) for ax in two.axes) >= sum(len(ax.lines) for ax in one.axes) - 1


def test_the_region_is_drawn_around_its_poles(design):
    figure = da.plot(design, view="poles", region=PoleRegion(damping=0.1, decay=0.1))
    assert any("damping above 0.1" in text.get_text() for text in figure.axes[0].get_legend().get_texts())


def test_the_impulse_response_of_a_lag_is_its_exponential():
    lag = da.control.tf([1.0], [1.0, 2.0])
    times = np.linspace(0.0, 2.0, 21)
    np.testing.assert_allclose(impulse_response(lag, times)[:, 0], np.exp(-2.0 * times), rtol=1e-12)


def test_the_page_has_norms_and_pictures(design, tmp_path):
    da.report(design, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "H-infinity norm" in text and text.count("<img") >= 5
