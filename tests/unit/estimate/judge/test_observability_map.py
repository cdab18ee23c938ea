"""Observability over poses, and the best sensors there."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from tests.helpers.findings import raises

LENGTH = 0.5
GRID = {"A.angle": [0.2, 1.0], "B.angle": [0.3, 1.2, 2.0]}


def arm(stiffness: float = 3.0, scale: float = 1.0) -> da.EquationsOfMotion:
    """Two rods in a horizontal plane with springs at the joints; scale : unit of length, metres by default."""
    m = da.Mechanism("arm", planar=True, gravity=0)
    length = LENGTH * scale
    upper, lower = (m.add_body(name, mass=1.0, inertia=da.rod(length)) for name in ("upper", "lower"))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-length / 2, 0))
    m.add_revolute("B", upper.at(length / 2, 0), lower.at(-length / 2, 0))
    for joint in ("A", "B"):
        m.add_sensor(f"{joint}.encoder", da.angle(joint))
        m.add_sensor(f"{joint}.tacho", da.rate(joint))
        if stiffness:
            m.add_spring(f"{joint}.spring", joint=joint, stiffness=stiffness * scale**2)
    return da.equations(m, coordinates="joint")


def test_the_strength_is_the_smallest_value_over_all_numbers_not_only_eigenvalues() -> None:
    # Eising: the distance to an unobservable model is the minimum over all complex s; on a grid it is not below that
    # at the eigenvalues by much, and there it is exact
    seen = da.estimate.observability_map(arm(), GRID, outputs=["A.encoder"])
    A, C = seen.rates[0], seen.rows[0][[seen.measurable.index("A.encoder")]]
    values = np.linalg.eigvals(A)
    smallest = [np.linalg.svd(np.vstack([A - s * np.eye(4), C]), compute_uv=False)[-1] for s in values]
    assert seen.strength.flat[0] == pytest.approx(min(smallest), rel=1e-12)
    assert seen.strength.shape == seen.rank.shape == (2, 3)
    assert abs(seen.weakest.flat[0]) == pytest.approx(seen.omega * abs(values[int(np.argmin(smallest))]), rel=1e-9)


def test_rigid_motion_without_a_position_is_not_observable() -> None:
    loose = da.estimate.observability_map(arm(stiffness=0.0), GRID, outputs=["A.tacho", "B.tacho"])
    assert (loose.rank == 2).all() and loose.strength.max() < 1e-7
    assert (loose.of(["A.encoder", "B.encoder"]).rank == 4).all()
    # one encoder sees both joints where the rods are coupled by inertia and springs
    held = da.estimate.observability_map(arm(), GRID, outputs="A.encoder")
    assert (held.rank == 4).all() and held.strength.min() > 1e-3


def test_results_do_not_depend_on_units_or_the_first_joint_angle() -> None:
    metres = da.estimate.observability_map(arm(), GRID)
    feet = da.estimate.observability_map(arm(scale=3.28), GRID)
    assert feet.strength == pytest.approx(metres.strength, rel=1e-8)


def test_the_best_sensors_are_those_of_all_combinations() -> None:
    seen = da.estimate.observability_map(arm(), GRID, outputs="A.encoder")
    names = ["A.tacho", "B.tacho", "A.encoder", "B.encoder"]
    for k in (1, 2):
        import itertools

        values = {c: float(seen.of(c).strength.min()) for c in itertools.combinations(names, k)}
        best = seen.best(k, names)
        assert best.strength.min() == pytest.approx(max(values.values()), rel=1e-6)
    beside = seen.best(1, names[:2], beside=["A.encoder"])
    assert beside.outputs[0] == "A.encoder" and beside.strength.min() >= seen.strength.min() * (1 - 1e-12)
    assert "worst" in repr(beside)


def test_a_closed_machine_is_judged_in_its_independent_coordinates() -> None:
    m = da.Mechanism("parallel", planar=True, gravity=0)
    crank, rod = m.add_body("crank", mass=1.0, inertia=da.rod(0.2)), m.add_body("rod", mass=1.0, inertia=da.rod(0.6))
    slider = m.add_body("slider", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), rod.at(-0.3, 0))
    m.add_revolute("C", rod.at(0.3, 0), slider.at(0, 0))
    m.add_prismatic("D", m.ground.at(0, 0), slider.at(0, 0))
    m.add_sensor("ruler", da.displacement("D"))
    poses = {"A.angle": [0.7, 1.2, np.pi]}
    seen = da.estimate.observability_map(da.equations(m), poses, coordinates=["A.angle"])
    assert seen.states == ("A.angle", "A.rate")
    # at the dead point the slider does not show the crank
    assert seen.rank.tolist() == [2, 2, 1]


def test_mistakes_have_their_codes() -> None:
    with raises(DataError, "empty"):
        da.estimate.observability_map(arm(), {})
    with raises(DataError, "wrong-type"):
        da.estimate.observability_map(np.eye(2), GRID)  # type: ignore[arg-type]
    seen = da.estimate.observability_map(arm(), GRID)
    with raises(DataError, "unknown-name"):
        seen.of(["C.encoder"])
    with raises(DataError, "not-a-count"):
        seen.best(0, ["A.tacho"])
    with raises(DataError, "missing-argument"):
        da.estimate.observability_map(arm(), GRID, scales={"A.angle": 0.1})
