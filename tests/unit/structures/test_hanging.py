"""Structures that only their load holds: chains, ropes, hinged blades; and those their load makes unstable."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import (
    Frame,
    Material,
    Section,
    assemble,
    find_buckling,
    prestress,
    solve_static,
    spin,
    spin_rotor,
)
from tests.helpers.findings import raises

STEEL = Material("steel", E=210e9, density=7850.0)
ROD = {"section": Section.circle(0.02), "material": STEEL}


def chain(n, length=10.0):
    f = Frame("chain", planar=True)
    y = -np.linspace(0, length, n + 1)
    f.add_points("p", np.column_stack([0 * y, y]))
    f.add_bars("b", [f"p{k}" for k in range(1, n + 1)], [f"p{k}" for k in range(2, n + 2)], **ROD)
    f.add_support("p1", "pinned")
    return assemble(f)


def test_a_hanging_chain_swings_at_the_zeros_of_the_bessel_function():
    """ω = j₀ₖ/2 √(g/L), Daniel Bernoulli 1732."""
    exact = np.array([2.404825558, 5.520078110]) / 2 * np.sqrt(9.81 / 10.0)
    errors = [prestress(chain(n), "gravity").modes(2).frequencies / exact - 1 for n in (20, 40)]
    np.testing.assert_allclose(errors[1], 0, atol=5e-3)
    assert np.all(np.abs(errors[1]) < 0.3 * np.abs(errors[0]))


def test_a_load_that_moves_the_free_motions_is_still_refused():
    with raises(ModelError, "not-held"):
        prestress(chain(4), {"gravity": 1.0, "p3.x": 1.0})
    with raises(ModelError, "not-held"):
        solve_static(chain(4), "gravity")
    with raises(ModelError, "not-held"):
        find_buckling(chain(4), "gravity")


def test_a_blade_hinged_on_the_axis_flaps_once_per_turn():
    f = Frame("blade")
    f.add_points(["hub", "tip"], [[0, 0, 0], [4, 0, 0]])
    f.add_beam("blade", "hub", "tip", section=Section.rectangle(0.02, 0.2), material=STEEL, elements=8)
    f.add_support("hub", "xyz rx rz")
    for speed in (5.0, 30.0):
        assert spin(assemble(f), "z", speed).modes(1).frequencies[0] == pytest.approx(speed, rel=1e-4)


def column(P=1.0):
    f = Frame("column", planar=True)
    f.add_points(["a", "b"], [[0, 0], [0, 3]])
    f.add_beam("c", "a", "b", section=Section.square(0.05), material=STEEL, elements=8)
    f.add_support("a")
    f.add_force("P", "b", (0, -P))
    return assemble(f)


def test_a_column_that_is_pulled_does_not_buckle():
    with raises(DataError, "no-buckling", "'-1 P'"):
        find_buckling(column(), {"P": -1.0})
    assert "under '2 P'" in repr(find_buckling(column(), {"P": 2.0}))
    f = Frame("large")
    f.add_points(["a", "b"], [[0, 0, 0], [0, 0, 3]])
    f.add_beam("c", "a", "b", section=Section.square(0.05), material=STEEL, elements=80)
    f.add_support("a")
    with raises(DataError, "no-buckling"):
        find_buckling(assemble(f), {"b.z": 1.0})


def test_statics_beyond_the_buckling_load_is_refused():
    s = column()
    critical = find_buckling(s, "P").critical
    assert solve_static(prestress(s, {"P": 0.9 * critical}), {"b.x": 1.0}).displacement["b.x"] > 0
    with raises(ModelError, "not-stable", "'column'"):
        solve_static(prestress(s, {"P": 1.5 * critical}), {"b.x": 1.0})


def test_springs_and_lumps_alone_have_no_internal_forces_to_prestress():
    f = Frame("spring", planar=True)
    f.add_points(["a", "b"], [[0, 0], [1, 0]])
    f.add_spring("s", "a", "b", 1e3)
    f.add_mass("m", "b", 1.0)
    f.add_support("a")
    f.add_support("b", "y")
    with raises(DataError, "not-supported", "'spring'"):
        prestress(assemble(f), "gravity")


def test_a_rotor_needs_a_frame_in_space():
    with raises(DataError, "missing-rotations", "'column'"):
        spin_rotor(column(), "y", 10.0)
