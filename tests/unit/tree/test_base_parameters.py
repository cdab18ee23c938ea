"""Base parameters: known counts, groupings in closed form, and the rank decision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ConvergenceError, DataError
from dalembert.tree.base_parameters import check_rank, first_independent
from tests.helpers.findings import raises
from tests.helpers.robots import planar_arm
from tests.helpers.tree_chains import chain

LIBRARY = Path(da.__file__).parent / "library"


def test_two_rods_in_a_vertical_plane_have_their_six_known_combinations() -> None:
    found = da.tree.base_parameters(da.equations(planar_arm(), coordinates="joint"))
    # Khalil and Dombre 2002: the mass of the second rod acts at the elbow, 0.5 m from the shoulder
    assert found.names == (
        "rod1.hx + 0.5 rod2.mass", "rod1.hy", "rod1.J + 0.25 rod2.mass", "rod2.hx", "rod2.hy", "rod2.J",
    )  # fmt: skip
    assert found.without_effect == ("rod1.mass",)
    assert found.grouping_of("rod2.mass") == pytest.approx({found.names[0]: 0.5, found.names[2]: 0.25})


def test_without_gravity_two_rods_have_four() -> None:
    assert da.tree.base_parameters(da.equations(planar_arm(gravity=False), coordinates="joint")).count == 4


def test_the_six_joint_arm_has_36() -> None:
    eqs = da.equations(da.read_model(LIBRARY / "six-joint-arm.toml"), coordinates="joint")
    # 7 of each joint, less 6 of the first two axes, the first along gravity (Khalil and Dombre 2002)
    assert da.tree.base_parameters(eqs).count == 7 * 6 - 6
    # friction adds two of each joint; the motors of the first two joints turn with inertia of the bodies
    assert da.tree.base_parameters(eqs, friction=("viscous", "coulomb"), rotors=True).count == 36 + 12 + 4


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_floating_base_has_ten_and_every_hinge_on_it_seven(count: int) -> None:
    m = da.Mechanism("float")
    bodies = [m.add_body("base", mass=2.0, inertia=[1.0, 1.1, 1.2])]
    for k in range(count):
        bodies.append(m.add_body(f"arm{k}", mass=1.0, inertia=[0.1, 0.2, 0.25]))
        axis = [(1, 0, 0), (0, 1, 0), (0, 0, 1)][k % 3]
        m.add_revolute(f"hinge{k}", bodies[k].at(0.2, 0.1, 0.3), bodies[-1].at(0, -0.3, 0.1), axis=axis)
    assert da.tree.base_parameters(da.equations(m, coordinates="joint")).count == 10 + 7 * count


def test_kept_columns_times_base_parameters_give_the_efforts() -> None:
    eqs = da.equations(chain(5), coordinates="joint")
    found = da.tree.base_parameters(eqs, friction="viscous")
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 20, 5))
    values = rng.normal(size=len(found.parameters))
    Y = da.tree.regressor(eqs, (q, v), a, friction="viscous")
    # groupings are least squares of columns with a condition number below 10: rounding of 1e-14
    np.testing.assert_allclose(Y[:, :, list(found.kept)] @ found.from_parameters(values), Y @ values, atol=1e-11)


def test_other_random_states_give_the_same_groupings() -> None:
    eqs = da.equations(chain(4), coordinates="joint")
    one, other = (da.tree.base_parameters(eqs, seed=seed) for seed in (0, 1))
    np.testing.assert_allclose(one.grouping, other.grouping, atol=1e-11)
    assert one.names == other.names


def test_labels_are_short_and_tables_complete() -> None:
    found = da.tree.base_parameters(da.equations(planar_arm(), coordinates="joint"))
    assert found.labels[0] == "rod1.hx + 1 other" and found.labels[1] == "rod1.hy"
    assert "0.25 rod2.mass" in found.table() and repr(found).startswith("6 base parameters of 8")


@pytest.mark.parametrize(("distance", "count"), [(7e-10, 1), (1.5e-9, 2)])
def test_a_column_counts_as_independent_from_a_distance_on(distance: float, count: int) -> None:
    R = np.array([[1.0, np.sqrt(1 - distance**2)], [0.0, distance]])
    assert len(first_independent(R)) == count


def test_a_rank_without_a_gap_between_singular_values_is_refused() -> None:
    check_rank("arm", np.array([1.0, 1e-2, 0.9e-5]), 2)
    with raises(ConvergenceError, "ill-conditioned"):
        check_rank("arm", np.array([1.0, 1e-2, 1.1e-5]), 2)


def test_a_wrong_number_of_parameters_is_refused() -> None:
    found = da.tree.base_parameters(da.equations(planar_arm(), coordinates="joint"))
    with pytest.raises(DataError) as caught:
        found.from_parameters([1.0, 2.0])
    assert caught.value.code == "wrong-shape"
