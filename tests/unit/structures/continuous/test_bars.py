"""Bars, shafts and strings against their characteristic equations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import Bar, End, Section, Shaft, String
from dalembert.structures.continuous.bars import _largest
from tests.helpers.findings import raises


@pytest.mark.parametrize(
    ("left", "right", "roots"),
    [
        ("fixed", "free", lambda i: (i - 0.5) * np.pi),
        ("free", "fixed", lambda i: (i - 0.5) * np.pi),
        ("fixed", "fixed", lambda i: i * np.pi),
        ("free", "free", lambda i: (i - 1.0) * np.pi),
    ],
)
def test_bars_between_plain_ends(left, right, roots):
    found = Bar(2.0, EA=3.0, rhoA=5.0, left=left, right=right).modes(200)
    kappa = roots(np.arange(1, 201))
    assert found.wave_numbers == pytest.approx(kappa, rel=1e-15, abs=0.0)
    assert found.frequencies == pytest.approx(kappa * math.sqrt(3.0 / 5.0) / 2.0)
    elastic = slice(found.rigid, None)
    assert found.modal_masses[elastic] == pytest.approx(np.full(200 - found.rigid, 5.0), rel=1e-13)
    assert found.modal_stiffnesses == pytest.approx(found.modal_masses * found.frequencies**2, rel=1e-12)
    held = {"fixed": 0.0, "free": 1.0}
    assert np.abs(found.shape(0.0)) == pytest.approx(np.full(200, held[left]), abs=1e-12)
    assert np.abs(found.shape(2.0)) == pytest.approx(np.full(200, held[right]), abs=1e-12)


def test_bars_with_springs_and_masses_meet_their_equations():
    k = Bar(1.0, EA=1.0, rhoA=1.0, right=End(mass=0.4)).modes(20).wave_numbers
    assert k * 0.4 * np.sin(k) == pytest.approx(np.cos(k), abs=1e-12)
    k = Bar(1.0, EA=1.0, rhoA=1.0, right=End(spring=7.0)).modes(20).wave_numbers
    assert k * np.cos(k) == pytest.approx(-7.0 * np.sin(k), abs=1e-11)
    two = Bar(1.0, EA=1.0, rhoA=1.0, left=End(spring=2.0, mass=0.3), right=End(spring=5.0, mass=1.0)).modes(30)
    k = two.wave_numbers
    assert (np.diff(k) > 0.0).all()
    a, b = 2.0 - 0.3 * k**2, 5.0 - k**2
    assert (a * b - k**2) * np.sin(k) + (a + b) * k * np.cos(k) == pytest.approx(np.zeros(30), abs=1e-11 * k[-1] ** 4)
    assert two.modal_stiffnesses == pytest.approx(two.modal_masses * two.frequencies**2, rel=1e-11)


def test_shapes_of_bars_with_end_masses_are_orthogonal():
    ends = {"left": End(spring=2.0, mass=0.3), "right": End(mass=1.0)}
    found = Bar(1.0, EA=1.0, rhoA=1.0, **ends).modes(12)
    x, w = np.polynomial.legendre.leggauss(80)
    q = found.shape((x + 1) / 2)
    at = found.shape(np.array([0.0, 1.0]))
    gram = (q * w / 2) @ q.T + (at * [0.3, 1.0]) @ at.T
    assert gram == pytest.approx(np.diag(found.modal_masses), abs=1e-13)
    mean = q @ w / 2 + at @ [0.3, 1.0]
    assert found.participation == pytest.approx(mean, abs=1e-13)
    assert np.abs(found.shape(np.linspace(0, 1, 2001))).max(axis=1) == pytest.approx(np.ones(12), abs=1e-4)


def test_a_soft_spring_and_a_rigid_bar_are_an_oscillator():
    assert Bar(1.0, EA=1.0, rhoA=1.0, left=End(spring=1e-12)).frequencies(1)[0] == pytest.approx(1e-6, rel=1e-11)


def test_a_shaft_takes_torsion_constant_and_polar_moment():
    shaft = Shaft(1.5, Section.circle(0.05), "steel", left="fixed", right=End(inertia=0.2))
    assert shaft.wave_speed == pytest.approx(math.sqrt(80.769e9 / 7850), rel=1e-5)
    k = shaft.modes(4).wave_numbers
    ratio = shaft.mass_per_length * 1.5 / 0.2
    assert k * np.tan(k) == pytest.approx(np.full(4, ratio), rel=1e-9)
    system = shaft.system(3, forces_at={"torque": 1.5}, outputs_at={"twist": 1.5})
    assert system.units["torque"] == "N m"
    assert system.units["twist"] == "rad"


def test_effective_masses_of_a_bar_add_up():
    # fixed-free: 8/((2i-1)π)², whose sum is 1; the rest after n is 2/(π² n)
    found = Bar(1.0, EA=1.0, rhoA=1.0).modes(200)
    assert found.effective_masses[:2] == pytest.approx([8 / np.pi**2, 8 / (9 * np.pi**2)], rel=1e-13)
    assert 1.0 - found.effective_masses.sum() == pytest.approx(2 / (np.pi**2 * 200), rel=1e-5)


def test_a_string_answers_a_pluck_at_its_middle():
    system = String(1.0, tension=4.0, rhoA=1.0).system(400, forces_at=[0.5], outputs_at=[0.5])
    static = system.frequency_response([0.0], kind="output").values[0, 0, 0].real
    assert static == pytest.approx(1.0 / 16.0, rel=2e-3)  # l/4T, 1/n left


def test_a_bar_struck_at_its_end_moves_as_its_waves_say():
    # constant force on the free end of a fixed bar: u = t c F/EA until the wave is back at t = 2l/c
    bar = Bar(1.0, EA=1.0, rhoA=1.0)
    t = np.linspace(0.0, 1.9, 20)
    run = bar.response({"push": 1.0}, times=t, modes=400, forces_at={"push": 1.0}, outputs_at={"end": 1.0})
    assert run["end"] == pytest.approx(t, abs=2 / (np.pi**2 * 400) * 2)  # Σ 8/((2i-1)π)² left over


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bar(1.0, EA=1.0),
        lambda: Bar(1.0, Section.circle(0.1), "steel", EA=1.0),
        lambda: Bar(1.0, EA=1.0, rhoA=1.0, left="supported"),
        lambda: Bar(1.0, EA=1.0, rhoA=1.0, right=End(inertia=1.0)),
        lambda: Shaft(1.0, GJ=1.0, rhoIp=1.0, right=End(mass=1.0)),
        lambda: String(1.0, tension=1.0, rhoA=1.0, left="loose"),
    ],
)
def test_bars_that_make_no_sense_are_refused(make):
    with pytest.raises(ModelError):
        make()


def test_bars_refuse_numbers_that_are_not_positive_and_moments():
    with pytest.raises(DataError):
        Bar(-1.0, EA=1.0, rhoA=1.0)
    with raises(DataError, "unknown-name"):
        Bar(1.0, EA=1.0, rhoA=1.0).system(2, outputs_at={"m": (0.5, "moment")})


# ---- edges of thresholds


@pytest.mark.parametrize(("excess", "first"), [(3e-10, True), (3e-9, False)])
def test_of_ends_that_are_equal_to_a_billionth_the_first_is_taken(excess, first):
    ends = np.array([[0.5], [-0.5 * (1.0 + excess)]])
    found = _largest(np.array([-0.2 * np.pi]), np.array([0.3 * np.pi]), ends)  # no peak between them
    assert (found[0] > 0.0) == first
