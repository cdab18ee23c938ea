"""Thresholds of structures at their edges: one side is accepted, the other is not."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import Frame, Section, Structure, assemble, centrifugal_load, find_buckling, solve_static
from dalembert.structures.analysis import buckling, prestress, spinning, statics
from dalembert.structures.assembly import rotating_bodies
from dalembert.structures.frame import arguments
from dalembert.structures.frame.elements import beam
from dalembert.structures.reduction import fidelity
from tests.helpers.findings import raises

PIPE = {"section": Section.tube(0.1, 0.08), "material": "steel"}


def short_beam(length: float) -> Frame:
    """A frame of size 1 with a beam of this length."""
    f = Frame("short", planar=True)
    f.add_points(["A", "B", "C"], [[0, 0], [length, 0], [1, 0]])
    f.add_beams("b", ["A", "B"], ["B", "C"], **PIPE)
    return f


def test_a_beam_has_no_length_up_to_its_limit():
    limit = beam.LIMITS.length
    assert short_beam(2 * limit).problems() == []
    with raises(ModelError, "zero-length", "'b1'"):
        short_beam(0.5 * limit).check()


def leaning(angle: float) -> Frame:
    """A beam along x whose height direction leaves it by this angle."""
    f = Frame("leaning")
    f.add_points(["A", "B"], [[0, 0, 0], [1, 0, 0]])
    f.add_beam("b", "A", "B", up=(np.cos(angle), np.sin(angle), 0.0), **PIPE)
    return f


def test_a_height_direction_is_along_the_beam_up_to_its_limit():
    limit = beam.LIMITS.angle
    assert leaning(2 * limit).problems() == []
    with raises(ModelError, "parallel", "'b'"):
        leaning(0.5 * limit).check()


@pytest.mark.parametrize(("share", "fits"), [(0.5, True), (2.0, False)])
def test_a_spring_matrix_is_symmetric_up_to_its_limit(share: float, fits: bool):
    K = np.eye(3)
    K[0, 1] = share * arguments.ROUNDING
    f = Frame("spring", planar=True)
    f.add_point("A", 0, 0)
    if fits:
        f.add_spring("s", "A", None, K)
    else:
        with raises(ModelError, "not-symmetric"):
            f.add_spring("s", "A", None, K)


def test_a_body_is_round_up_to_its_limit():
    axis = np.array([[0.0, 0.0, 1.0]])
    # the transverse inertias are 1 and 1 + d, compared with their mean: d/2
    rotating_bodies.refuse_not_round(np.diag([1.0, 1.0 + rotating_bodies.ROUND, 0.5])[None], axis, "a disc")
    with raises(DataError, "not-round", "a disc"):
        rotating_bodies.refuse_not_round(np.diag([1.0, 1.0 + 4 * rotating_bodies.ROUND, 0.5])[None], axis, "a disc")


def test_a_mass_is_the_same_in_all_directions_up_to_its_limit():
    def spun(difference: float) -> np.ndarray:
        f = Frame("mass", gravity=0)
        f.add_point("A", 1, 0, 0)
        f.add_mass("m", "A", (1.0, 1.0, 1.0 + difference))
        f.add_spring("s", "A", None, {"x": 1.0, "y": 1.0, "z": 1.0})
        return centrifugal_load(assemble(f), "z", 1.0)

    limit = spinning.LIMITS.uneven  # of the difference to the mean of three
    assert spun(limit)[0] == pytest.approx(1.0)
    with raises(DataError, "uneven-mass", "'A'"):
        spun(3 * limit)


def test_frequencies_repeat_up_to_their_limit():
    limit = fidelity.LIMITS.repeated
    for difference, sizes in ((0.5 * limit, [2, 1]), (2.0 * limit, [1, 1, 1])):
        assert [len(group) for group in fidelity.group_repeats(np.array([1.0, 1.0 + difference, 1.2]))] == sizes


def idle_column(share: float) -> Frame:
    """Two columns, the second with this share of the load of the first."""
    f = Frame("columns", planar=True)
    f.add_points(["A", "B", "C", "D"], [[0, 0], [0, 2], [1, 0], [1, 2]])
    f.add_beams("c", ["A", "C"], ["B", "D"], **PIPE)
    f.add_support(["A", "C"], "pinned")
    f.add_support(["B", "D"], "x")
    f.add_force("weight", "B", (0, -1000))
    f.add_force("weight", "D", (0, -1000 * share))
    return f


def test_a_load_factor_is_finite_up_to_its_limit():
    limit = buckling.LIMITS.zero
    found = {share: find_buckling(assemble(idle_column(share * limit)), "weight", count=10) for share in (0.5, 2.0)}
    assert found[2.0].factors[-1] == pytest.approx(found[2.0].critical / (2.0 * limit), rel=1e-5)
    assert found[0.5].factors[-1] < 0.1 / limit * found[0.5].critical


@pytest.mark.parametrize(("share", "stable"), [(0.5, True), (2.0, False)])
def test_a_structure_is_stable_up_to_its_limit(share: float, stable: bool):
    # stiffness 1 and -1 under forces 1 and b: work 1 - b², its terms 1 + b²
    b = np.sqrt(1.0 + 2.0 * share * statics.LIMITS.work)
    s = Structure("pair", ["A", "B"], [[0, 0, 0], [1, 0, 0]], ["x"], M=np.eye(2), K=np.diag([1.0, -1.0]))
    if stable:
        assert solve_static(s, [1.0, b]).displacement["B.x"] == pytest.approx(-1.0)
    else:
        with raises(ModelError, "not-stable", "'pair'"):
            solve_static(s, [1.0, b])


@pytest.mark.parametrize(("share", "balanced"), [(0.5, True), (2.0, False)])
def test_a_load_is_in_balance_up_to_its_limit(share: float, balanced: bool):
    f = Frame("rod", planar=True, gravity=0)
    f.add_points(["A", "B"], [[0, 0], [1, 0]])
    f.add_bar("b", "A", "B", **PIPE)
    s = assemble(f)
    load = {"A.x": -1.0, "B.x": 1.0 + 2.0 * share * statics.LIMITS.balance}  # half of the rest at either end
    if balanced:
        assert abs(prestress.geometric_stiffness(s, load)).max() == pytest.approx(1.0)
    else:
        with raises(ModelError, "not-held", "'rod'"):
            prestress.geometric_stiffness(s, load)


@pytest.mark.parametrize(("share", "shown"), [(0.5, False), (2.0, True)])
def test_given_forces_are_mentioned_from_their_limit_on(share: float, shown: bool):
    s = assemble(idle_column(1.0))
    solution = solve_static(s, {"weight": 1.0, "B.y": -1000 * share * statics.LIMITS.mention})
    assert ("given forces" in solution.table()) == shown
