"""Figures and the page of a synthesis."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control import DampingGoal, PoleRegion, StaticGain, cover, dk, hinf, mu, structured
from dalembert.linear import SecondOrder, StateSpace, connect, fit_uncertain
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


def swinging(p):
    """A mass on an uncertain spring, with a lightly damped mode."""
    return SecondOrder(1.0, p["k"], C=0.1, B=[[1.0, 1.0]], inputs=["force", "gust"], outputs="place")


@pytest.fixture(scope="module")
def uncertain():
    return fit_uncertain(swinging, {"k": (0.6, 1.4)})


def lines(figure):
    return {line.get_label(): line for ax in figure.axes for line in ax.lines}


@pytest.mark.spec("001-C62")
def test_a_family_is_drawn_member_by_member(uncertain):
    size, phase = da.plot(uncertain, "place", "gust", samples=5).axes
    assert len(phase.lines) == 6 and len(size.lines) == 7
    peak = size.lines[0].get_ydata().max()  # of the nominal one: 1 / (c ω) beside resonance
    assert peak == pytest.approx(20.0, abs=0.1)
    assert len(da.plot(uncertain, view="nyquist", samples=5).axes[0].lines) == 2 * 6 + 1
    region = PoleRegion(damping=0.04)
    (ax,) = da.plot(uncertain, view="poles", samples=5, region=region).axes
    assert "damping above 0.04" in ax.get_legend().get_texts()[-1].get_text()
    models = uncertain.sample(3)
    assert len(da.control.bode(models, ("place", "gust")).axes[1].lines) == 3
    loops = [model.select(inputs="force") for model in models]
    assert len(da.control.nyquist(loops).axes[0].lines) == 2 * 3 + 1


@pytest.mark.spec("001-C62")
def test_the_weight_of_a_cover_is_drawn_above_what_the_family_needs(uncertain):
    (ax,) = da.plot(cover([each.select(inputs="force") for each in uncertain.sample(4)], order=2)).axes
    drawn = lines(ax.figure)
    needed, weight = drawn["needed by the family"], drawn["weight"]
    assert (weight.get_ydata() >= needed.get_ydata() * (1 - 1e-9)).all()


@pytest.mark.spec("001-C62")
def test_bounds_of_mu_are_drawn_with_the_proved_peak(uncertain):
    closed = connect([uncertain, StateSpace.gain([[-0.2]], inputs="place", outputs="force")])
    judged = mu(closed)
    drawn = lines(da.plot(judged))
    upper, lower = drawn["upper bound"].get_ydata(), drawn["lower bound, attained"].get_ydata()
    assert (upper >= lower - 1e-12).all() and f"proved peak {judged.peak:.4g}" in drawn
    assert "at zero frequency" in drawn


@pytest.mark.slow
def test_the_page_of_a_robust_controller_has_mu(uncertain, tmp_path):
    weights = [StateSpace.gain([[0.4]], inputs="place", outputs="miss"),
               StateSpace.gain([[0.2]], inputs="force", outputs="effort"),
               StateSpace.gain([[1.0, 0.05]], inputs=["place", "noise"], outputs="reading")]  # fmt: skip
    whole = connect([uncertain, *weights], inputs=["gust", "noise", "force"], outputs=["miss", "effort", "reading"])
    da.report(dk(whole, outputs="reading", inputs="force", order=0, rounds=1), tmp_path / "robust.html")
    text = (tmp_path / "robust.html").read_text(encoding="utf-8")
    assert "structured singular value is at most" in text and text.count("<img") >= 6


@pytest.mark.slow
def test_the_page_of_a_scheduled_controller_has_goals_and_gains(tmp_path):
    plants = [StateSpace([[0, 1], [-k, 0]], [0, 1], inputs="u", provenance={"at": {"turn.angle": k}}) for k in (1, 2)]
    design = structured(plants, StaticGain(), hard=[DampingGoal(0.5)], scheduled="turn.angle")
    da.report(design, tmp_path / "scheduled.html", region=PoleRegion(damping=0.5))
    text = (tmp_path / "scheduled.html").read_text(encoding="utf-8")
    assert "damping &gt;= 0.5" in text and text.count("<img") == 2
