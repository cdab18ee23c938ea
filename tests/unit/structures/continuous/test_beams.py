"""Continuous beams: ends with springs and masses, limits, names, mistakes."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import (
    Beam,
    End,
    Material,
    Section,
    supported_branches,
)
from tests.helpers.findings import assert_read_only, raises


def unit(left="clamped", right="free", **rest):
    return Beam(1.0, EI=1.0, rhoA=1.0, left=left, right=right, **rest)


# --- ends -------------------------------------------------------------------------------------------------------------
def test_a_tip_mass_meets_the_textbook_equation():
    # 1 + cos cosh = β μ (sin cosh - cos sinh)
    for mu in (0.01, 1.0, 50.0):
        b = unit(right=End(mass=mu)).modes(4).wave_numbers
        left = 1.0 / np.cosh(b) + np.cos(b)
        right = b * mu * (np.sin(b) - np.cos(b) * np.tanh(b))
        assert left == pytest.approx(right, abs=1e-12 * (1.0 + mu * b.max()))


def test_a_tip_spring_meets_the_textbook_equation():
    # (1 + cos cosh) β³ = κ (cos sinh - sin cosh)
    kappa = 20.0
    b = unit(right=End(spring=kappa)).modes(5).wave_numbers
    assert (1 / np.cosh(b) + np.cos(b)) * b**3 == pytest.approx(kappa * (np.cos(b) * np.tanh(b) - np.sin(b)), abs=1e-9)


def test_a_heavy_tip_mass_on_a_light_beam_is_a_spring_and_a_mass():
    mu = 1e6
    assert unit(right=End(mass=mu)).frequencies(1)[0] == pytest.approx(math.sqrt(3.0 / (mu + 33 / 140)), rel=1e-9)


def test_springs_from_zero_to_infinity_lead_from_free_to_clamped():
    free, clamped = unit().frequencies(4), unit(right="clamped").frequencies(4)
    soft = unit(right=End(spring=1e-9, rotational_spring=1e-9)).frequencies(4)
    stiff = unit(right=End(spring=1e13, rotational_spring=1e13)).frequencies(4)
    assert soft == pytest.approx(free, rel=1e-9)
    assert stiff == pytest.approx(clamped, rel=1e-9)


def test_masses_from_zero_to_infinity_lead_from_free_to_held():
    heavy = unit(right=End(mass=1e12, inertia=1e12)).frequencies(6)
    assert heavy[:2].max() < 1e-5
    assert heavy[2:] == pytest.approx(unit(right="clamped").frequencies(4), rel=1e-9)


def test_a_beam_on_two_soft_springs_bounces_and_pitches_as_a_rigid_body():
    for k in (1e-4, 1e-8):
        w = Beam(2.0, EI=1.0, rhoA=3.0, left=End(spring=k), right=End(spring=k)).frequencies(3)
        assert w[:2] == pytest.approx([math.sqrt(2 * k / 6.0), math.sqrt(2 * k / (6.0 * 4 / 12))], rel=k)
        free = Beam(2.0, EI=1.0, rhoA=3.0, left="free", right="free").frequencies(3)[2]
        assert w[2] == pytest.approx(free, rel=10 * k + 1e-12)


def test_frequencies_that_coincide_are_found_twice_with_orthogonal_modes():
    """Ends chosen so that bounce and pitch of a stiff beam meet: the determinant does not change sign there."""

    def split(inertia):  # even modes are guided in the middle, odd ones supported there
        end = End(spring=1e-3, inertia=inertia)
        even, odd = (Beam(0.5, EI=1.0, rhoA=1.0, left=way, right=end) for way in ("guided", "supported"))
        return float(even.frequencies(1)[0] - odd.frequencies(1)[0])

    # pitch: 2 k (1/4)/(1/12 + 2 J), bounce 2 k: equal near J = 1/12
    meet = brentq(split, 0.08, 0.09, xtol=1e-16)
    ends = End(spring=1e-3, inertia=meet)
    found = unit(ends, ends).modes(5)
    assert found.frequencies[1] == pytest.approx(found.frequencies[0], rel=1e-11)
    mass = found.mass_matrix()
    size = np.sqrt(np.diag(mass))
    assert np.abs(mass / size / size[:, None] - np.eye(5)).max() < 1e-11
    assert found.modal_stiffnesses / found.modal_masses == pytest.approx(found.frequencies**2, rel=1e-10)


def test_an_end_mass_counts_in_masses_and_participation_only_where_it_can_move():
    found = unit(left=End(spring=math.inf, rotational_spring=math.inf, mass=5.0), right=End(mass=0.5)).modes(60)
    assert found.moving_mass == 1.5
    assert found.effective_masses.sum() == pytest.approx(1.5, rel=0.01)
    found = unit(left="free", right=End(mass=0.5)).modes(4)
    assert found.rigid == 2
    assert found.mass_matrix()[:2, :2] == pytest.approx(np.diag(found.modal_masses[:2]), abs=1e-14)
    assert found.effective_masses == pytest.approx([1.5, 0, 0, 0], abs=1e-14)


def test_mirrored_beams_have_mirrored_modes():
    ends = (End(spring=10.0, inertia=0.2), End(rotational_spring=3.0, mass=0.7))
    z = np.linspace(0.0, 1.0, 21)
    one, other = unit(*ends).modes(6), unit(*ends[::-1]).modes(6)
    assert one.frequencies == pytest.approx(other.frequencies, rel=1e-13)
    shapes = other.shape(1.0 - z)
    shapes *= np.sign((one.shape(z) * shapes).sum(axis=1))[:, None]
    assert one.shape(z) == pytest.approx(shapes, abs=1e-11)


def test_other_words_for_ends_are_understood():
    assert unit("fixed", "pinned").frequencies(1)[0] == unit("clamped", "supported").frequencies(1)[0]


def test_an_unknown_end_names_the_nearest():
    with raises(ModelError, "unknown-name", "'clampd'", "'clamped'"):
        unit("clampd")


@pytest.mark.parametrize("wrong", [{"spring": -1.0}, {"mass": math.inf}, {"inertia": math.nan}, {"mass": "heavy"}])
def test_an_impossible_end_is_refused(wrong):
    with pytest.raises(DataError):
        End(**wrong)


# --- beams ------------------------------------------------------------------------------------------------------------
def test_a_beam_takes_its_numbers_from_section_and_material():
    section, steel = Section.rectangle(0.03, 0.02), Material("s", E=200e9, density=8000.0)
    tall = Beam(0.5, section, steel)
    flat = Beam(0.5, section, steel, direction="z")
    assert pytest.approx(200e9 * section.I_z) == tall.EI
    assert pytest.approx(200e9 * section.I_y) == flat.EI
    assert tall.mass == pytest.approx(8000.0 * 6e-4 * 0.5)
    assert tall.frequencies(1)[0] / flat.frequencies(1)[0] == pytest.approx(1.5)


def test_units_of_length_and_mass_do_not_matter():
    big = Beam(1000.0, EI=1e12, rhoA=1e-3, right=End(mass=0.3)).frequencies(5)
    scale = math.sqrt(1e12 / (1e-3 * 1000.0**4))
    assert big == pytest.approx(scale * unit(right=End(mass=0.3)).frequencies(5), rel=1e-13)


def test_modes_of_unit_mass_and_back():
    found = Beam(2.0, EI=3.0, rhoA=5.0, theory="timoshenko", rhoI=0.01, GA=40.0).modes(5)
    mass = found.normalise("mass")
    assert mass.modal_masses == pytest.approx(np.ones(5))
    assert mass.mass_matrix() == pytest.approx(np.eye(5), abs=1e-12)
    assert mass.frequencies == pytest.approx(found.frequencies)
    again = mass.normalise("largest")
    assert again.shape(1.3) == pytest.approx(found.shape(1.3))
    assert again.participation == pytest.approx(found.participation)
    with raises(DataError, "unknown-choice"):
        found.normalise("length")


def test_modes_are_frozen_copied_and_tabulated():
    found = unit().modes(3)
    with pytest.raises(AttributeError):
        found.length = 2.0
    assert_read_only(found.frequencies)
    assert copy.deepcopy(found).shape(0.5) == pytest.approx(found.shape(0.5))
    assert "61.31 %" in found.table()
    assert found.table() in repr(found)
    z, shapes = found.sample(11)
    assert shapes.shape == (3, 11)
    assert z[-1] == 1.0


def test_a_place_beside_the_beam_is_refused():
    with raises(DataError, "out-of-range", "0", "1 m"):
        unit().modes(1).shape(1.2)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Beam(0.0, EI=1.0, rhoA=1.0), DataError),
        (lambda: Beam(1.0, EI=-1.0, rhoA=1.0), DataError),
        (lambda: Beam(1.0, EI=1.0), ModelError),
        (lambda: Beam(1.0, Section.circle(0.1)), ModelError),
        (lambda: Beam(1.0, Section.circle(0.1), "steel", EI=2.0), ModelError),
        (lambda: Beam(1.0, Section.circle(0.1), "stel"), ModelError),
        (lambda: unit(theory="timoshenko"), ModelError),
        (lambda: unit(theory="timoschenko"), ModelError),
        (lambda: unit(direction="x"), ModelError),
        (lambda: unit().frequencies(0), DataError),
        (lambda: unit().frequencies(2.5), DataError),
        (lambda: unit().system(3, outputs_at={"a": (0.5, "speed")}), DataError),
        (lambda: unit().system(3, damping=[0.1]), DataError),
        (lambda: unit().system(3, damping=-0.1), DataError),
        (lambda: unit("free").system(5, forces_at=[0.5], outputs_at=[0.5], static_correction=True), DataError),
        (lambda: unit("free").frequency_response([0.0], forces_at=[0.5], outputs_at=[0.5]), DataError),
        (lambda: unit().frequency_response([1.0], forces_at=[1.5], outputs_at=[0.5]), DataError),
        (lambda: unit().frequency_response([1.0], forces_at=[0.5], outputs_at={"a": (0.1, "velocity")}), DataError),
        (lambda: unit().modes(2).project(lambda z: z * np.nan), DataError),
        (lambda: supported_branches(unit()), ModelError),
    ],
)
def test_mistakes_are_reported(make, error):
    with pytest.raises(error):
        make()


def test_sections_rigid_in_shear_make_a_rayleigh_beam():
    section = Section.circle(0.1).without_shear()
    one = Beam(1.0, section, "steel", theory="timoshenko").frequencies(4)
    other = Beam(1.0, section, "steel", theory="rayleigh").frequencies(4)
    assert one == pytest.approx(other, rel=1e-14)


# --- systems from beams -----------------------------------------------------------------------------------------------
def test_a_system_carries_names_units_and_damping():
    system = unit().system(
        4, forces_at={"hammer": 0.4}, moments_at=[1.0], base=True, damping=[0.01, 0.02, 0.03, 0.04],
        outputs_at={"tip": 1.0, "speed": (1.0, "velocity"), "root": (0.0, "moment"),
                    "felt": (1.0, "absolute acceleration")},
    )  # fmt: skip
    assert system.inputs == ("hammer", "moment@1", "base")
    assert system.outputs == ("tip", "speed", "root", "felt")
    assert system.units["hammer"] == "N"
    assert system.units["root"] == "N m"
    assert system.units["base"] == "m/s²"
    assert system.modes().damping_ratios == pytest.approx([0.01, 0.02, 0.03, 0.04])
    assert system.D[3].tolist() == [0.0, 0.0, 1.0]


def test_without_outputs_the_modal_coordinates_are_put_out():
    assert unit().system(2, forces_at=[1.0]).outputs == ("mode1", "mode2")


def test_the_root_moment_of_a_cantilever_is_force_times_arm():
    # 1/β² convergence of the moment at the root: 60 modes leave a percent
    system = unit().system(60, forces_at=[1.0], outputs_at={"root": (0.0, "moment"), "cut": (0.0, "shear force")})
    moment = system.frequency_response([0.0], kind="output").values[0, 0, 0].real
    assert moment == pytest.approx(1.0, rel=0.02)
    exact = unit().frequency_response(
        [0.0], forces_at=[1.0], outputs_at={"m": (0.0, "moment"), "f": (0.0, "shear force")}
    )
    assert exact.values[0, :, 0].real == pytest.approx([1.0, 1.0], abs=1e-12)


def test_a_moment_at_the_tip_bends_a_cantilever_into_a_circle():
    response = unit().frequency_response([0.0], moments_at=[1.0], outputs_at={"u": 1.0, "turn": (1.0, "slope")})
    assert response.values[0, :, 0].real == pytest.approx([0.5, 1.0], rel=1e-12)


def test_the_harmonic_response_is_smooth_through_the_cut_off():
    beam = unit(theory="timoshenko", rhoI=0.01, GA=30.0)
    cut = math.sqrt(beam.GA / beam.rhoI)
    w = cut * (1.0 + np.array([-2e-4, -1e-4, 0.0, 1e-4, 2e-4]))
    values = beam.frequency_response(w, forces_at=[0.7], outputs_at=[1.0]).values[:, 0, 0].real
    assert values[2] == pytest.approx((4 * (values[1] + values[3]) - values[0] - values[4]) / 6, rel=1e-6)


def test_a_load_with_a_jump_is_integrated_piece_by_piece():
    found = unit("supported", "supported").modes(9)
    forces = found.project(lambda z: np.where(z > 0.3, 2.0, 0.0), breaks=[0.3])
    i = np.arange(1, 10)
    assert forces == pytest.approx(2.0 * (np.cos(0.3 * i * np.pi) - np.cos(i * np.pi)) / (i * np.pi), abs=1e-13)


def test_a_floating_beam_answers_above_zero_frequency_like_a_rigid_body():
    w = 1e-3
    response = unit("free").frequency_response([w], forces_at=[0.5], outputs_at=[0.5])
    assert response.values[0, 0, 0].real == pytest.approx(-1.0 / w**2, rel=1e-6)


def test_sizes_of_a_beam_do_not_change_its_wave_numbers():
    """Springs, masses, shear and rotary inertia at ends and inside, of a long beam in units of its own."""
    L, EI, rhoA = 3.7, 41.0, 2.3
    mass, turn = rhoA * L, EI / L
    ends = (End(spring=10.0, rotational_spring=2.0, mass=0.3, inertia=0.2), End(spring=4.0, rotational_spring=3.0,
            mass=0.7, inertia=0.1))  # fmt: skip
    sized = [End(spring=e.spring * turn / L**2, rotational_spring=e.rotational_spring * turn, mass=e.mass * mass,
                 inertia=e.inertia * mass * L**2) for e in ends]  # fmt: skip
    plain = Beam(1.0, EI=1.0, rhoA=1.0, GA=50.0, rhoI=0.01, left=ends[0], right=ends[1], theory="timoshenko")
    large = Beam(L, EI=EI, rhoA=rhoA, GA=50.0 * turn / L, rhoI=0.01 * rhoA * L**2, left=sized[0], right=sized[1],
                 theory="timoshenko")  # fmt: skip
    scale = math.sqrt(EI / (rhoA * L**4))
    assert large.frequencies(6) == pytest.approx(scale * plain.frequencies(6), rel=1e-11)
    slender = Beam(1.0, EI=1.0, rhoA=1.0, left=ends[0], right=ends[1])
    assert np.all(plain.frequencies(6)[3:] < 0.95 * slender.frequencies(6)[3:])  # shear and rotary inertia count


def test_a_stiff_beam_on_a_rotational_spring_is_a_pendulum():
    """Pinned with a spring c against turning: ω = √(3 c / m L²) of a rod, the beam being rigid to 1e-6."""
    L, rhoA, c = 2.0, 3.0, 5.0
    beam = Beam(L, EI=1e9, rhoA=rhoA, left=End(spring=math.inf, rotational_spring=c), right="free")
    assert beam.frequencies(1)[0] == pytest.approx(math.sqrt(3 * c / (rhoA * L * L**2)), rel=1e-6)
