"""Beams and bars with any springs and masses at their ends.

Domain: springs from 1e-3 to 1e4 (or none, or held) and masses from 1e-3 to 1e2 (or none), in units of the beam;
slenderness from 6 up. Within it λ spans 1e-5 to 1e8 and the count of eigenvalues has ten digits to spare.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.structures import Bar, Beam, End, Section, assumed_modes
from dalembert.structures.continuous.wittrick_williams import count_below

springs = st.one_of(st.just(0.0), st.just(math.inf), st.floats(-3.0, 4.0).map(lambda x: 10.0**x))
masses = st.one_of(st.just(0.0), st.floats(-3.0, 2.0).map(lambda x: 10.0**x))
ends = st.builds(End, spring=springs, rotational_spring=springs, mass=masses, inertia=masses)
bar_ends = st.builds(End, spring=springs, mass=masses)
slenderness = st.one_of(st.just(None), st.floats(6.0, 300.0))


def make(left, right, alpha):
    if alpha is None:
        return Beam(1.0, EI=1.0, rhoA=1.0, left=left, right=right)
    r2 = 1.0 / alpha**2
    return Beam(1.0, EI=1.0, rhoA=1.0, rhoI=r2, GA=1.0 / (3.0 * r2), left=left, right=right, theory="timoshenko")


@given(ends, ends, slenderness)
def test_modes_are_complete_orthogonal_and_meet_their_energies(left, right, alpha):
    beam = make(left, right, alpha)
    modes = beam.modes(10)
    elastic = modes.wave_numbers[modes.rigid :]
    counted = count_below(elastic * (1.0 + 1e-7), beam._held)
    assert (counted >= np.arange(modes.rigid + 1, 11)).all()
    assert count_below(elastic[:1] * (1.0 - 1e-7), beam._held)[0] == modes.rigid
    size = np.sqrt(modes.modal_masses)
    assert np.abs(modes.mass_matrix() / size / size[:, None] - np.eye(10)).max() < 1e-9
    w2 = modes.frequencies**2
    scale = np.maximum(w2, 1e-4)  # a soft mode keeps the rounding of the stiff terms
    assert (np.abs(modes.modal_stiffnesses / modes.modal_masses - w2) <= 1e-9 * scale).all()


@given(ends, ends, slenderness)
def test_end_conditions_are_met(left, right, alpha):
    beam = make(left, right, alpha)
    modes = beam.modes(8)
    for end, z, sign in ((left, 0.0, -1.0), (right, 1.0, 1.0)):
        for spring, mass, motion, force in (
            (end.spring, end.mass, modes.shape(z), modes.shear_force(z)),
            (end.rotational_spring, end.inertia, modes.slope(z), modes.moment(z)),
        ):
            if math.isinf(spring):
                assert np.abs(motion).max() < 1e-9 * max(np.abs(modes.slope(np.linspace(0, 1, 9))).max(), 1.0)
                continue
            acting = (spring - modes.frequencies**2 * mass) * motion
            scale = np.abs(spring * motion) + np.abs(modes.frequencies**2 * mass * motion) + np.abs(force)
            field = np.abs(modes.shear_force(np.linspace(0.0, 1.0, 17))).max(axis=1) + 1.0
            assert (np.abs(sign * force + acting) <= 1e-8 * (scale + field)).all()


@given(ends, ends, st.floats(1.1, 100.0))
def test_stiffer_springs_raise_and_heavier_ends_lower_every_frequency(left, right, factor):
    base = make(left, right, None).frequencies(6)
    stiffer = End(right.spring * factor, right.rotational_spring * factor, right.mass, right.inertia)
    heavier = End(right.spring, right.rotational_spring, right.mass * factor, right.inertia * factor)
    noise = 1e-10 * (1.0 + base)
    assert (make(left, stiffer, None).frequencies(6) >= base - noise).all()
    assert (make(left, heavier, None).frequencies(6) <= base + noise).all()


@given(ends, ends, st.floats(8.0, 100.0))
def test_shear_and_rotary_inertia_lower_every_frequency(left, right, alpha):
    """P16 of the spec: both effects, alone and together (order of modes, for any ends)."""
    r2 = 1.0 / alpha**2
    about = {"EI": 1.0, "rhoA": 1.0, "rhoI": r2, "GA": 1.0 / (3.0 * r2), "left": left, "right": right}
    plain, rotary, shear, both = (
        Beam(1.0, theory=theory, **about).frequencies(6)
        for theory in ("euler-bernoulli", "rayleigh", "shear", "timoshenko")
    )
    noise = 1e-10 * (1.0 + plain)
    for lower, upper in ((rotary, plain), (shear, plain), (both, rotary), (both, shear)):
        assert (lower <= upper + noise).all()


@given(ends, ends)
def test_assumed_modes_never_lie_below_the_exact_ones(left, right):
    exact = make(left, right, None).frequencies(5)
    ritz = assumed_modes(1.0, 1.0, 1.0, 10, left=left, right=right).system.modes().frequencies[:5]
    assert (ritz**2 >= exact**2 - 1e-7 * (exact[-1] ** 2 + 1e4)).all()


@given(bar_ends, bar_ends)
@settings(max_examples=2 * settings().max_examples)
def test_bars_have_every_mode_once(left, right):
    modes = Bar(1.0, EA=1.0, rhoA=1.0, left=left, right=right).modes(12)
    k = modes.wave_numbers
    assert (np.diff(k) > 0.0).all()
    # between n π and the next there is one root: two ends shift a root by at most half a turn each
    assert (k <= (np.arange(12) + 1) * np.pi * (1 + 1e-12)).all()
    assert (k >= (np.arange(12) - 1) * np.pi * (1 - 1e-12)).all()
    scale = np.maximum(modes.modal_masses * modes.frequencies**2, 1e-3)
    assert (np.abs(modes.modal_stiffnesses - modes.modal_masses * modes.frequencies**2) <= 1e-9 * scale).all()


@given(st.floats(0.0, 1.0), st.floats(0.02, 0.2), st.floats(0.02, 0.2), st.floats(0.02, 0.2), st.floats(0.02, 0.2))
@settings(max_examples=2 * settings().max_examples)
def test_a_taper_stays_between_its_ends(t, h1, w1, h2, w2):
    one, other = Section.rectangle(h1, w1), Section.rectangle(h2, w2)
    middle = one.between(other, t)
    if (h1 - h2) * (w1 - w2) >= 0.0:  # both dimensions grow the same way
        for what in ("area", "I_y", "I_z", "J"):
            low, high = sorted((getattr(one, what), getattr(other, what)))
            assert low * (1 - 1e-9) <= getattr(middle, what) <= high * (1 + 1e-9)
    assert abs(middle.dimensions["height"] - ((1 - t) * h1 + t * h2)) < 1e-15
