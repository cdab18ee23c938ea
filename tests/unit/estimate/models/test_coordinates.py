"""Choice of independent coordinates at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.estimate.models import coordinates
from tests.helpers.kinematic_machines import slider_crank


def choose(monkeypatch, *shares: float) -> list[str]:
    """A joint j and a place p of a machine of one freedom: least over largest gradients along its motion."""
    monkeypatch.setattr(coordinates, "measure_candidate", lambda eqs, name: SimpleNamespace(name=name))
    monkeypatch.setattr(coordinates, "turn_candidates", lambda *parts, **more: [])
    monkeypatch.setattr(coordinates, "_poses", lambda *parts: [0, 1])
    views = [np.ones((len(shares), 1)), np.array(shares)[:, None]]
    monkeypatch.setattr(coordinates, "_gradients", lambda eqs, q, t, candidates: views[q])
    eqs = SimpleNamespace(positions=("p",)[: len(shares) - 1], recorded_measures=("j",))
    chart = SimpleNamespace(x=SimpleNamespace(t=0.0), positions=(SimpleNamespace(name="first"),))
    return coordinates.choose_coordinates(eqs, chart)


@pytest.mark.parametrize(("share", "chosen"), [(0.05, "p"), (0.2, "j")])
def test_a_joint_that_keeps_a_tenth_of_its_gradient_is_preferred(share, chosen, monkeypatch):
    assert choose(monkeypatch, share, 1.0) == [chosen]


@pytest.mark.parametrize(("share", "chosen"), [(3e-7, "first"), (3e-6, "j")])
def test_a_coordinate_that_keeps_a_millionth_is_independent(share, chosen, monkeypatch):
    assert choose(monkeypatch, share) == [chosen]


# ---- edges of thresholds of the poses


def poses(monkeypatch, nv: int, rows=(), gap: float = 0.0) -> list[np.ndarray]:
    """Poses of a machine whose coordinates are its speeds, with constant rows."""
    A = np.array(rows, dtype=float).reshape(-1, nv)
    kernels = {
        "rows": lambda *parts: [A.ravel()],
        "kinematics": lambda *parts: [np.eye(nv).ravel()],
        "position": lambda *parts: [np.full(len(A), gap)],
    }
    monkeypatch.setattr(coordinates, "Kernel", lambda function: function)
    monkeypatch.setattr(coordinates, "projection_function", lambda eqs, newton: lambda q, v, p, t: [q])
    eqs = SimpleNamespace(
        nv=nv, nq=nv, nz=0, nu=0, p=None, rows=A, holonomic_rows=list(range(len(A))), kernel=kernels.__getitem__
    )
    chart = SimpleNamespace(x=SimpleNamespace(q=np.zeros(nv), t=0.0), T=SimpleNamespace(A=A))
    return coordinates._poses(eqs, chart)


def test_a_motion_is_explored_by_48_steps_of_0_15_forward_and_back(monkeypatch):
    found = np.ravel(poses(monkeypatch, 1))
    assert found == pytest.approx(0.15 * np.concatenate([np.arange(49), -np.arange(1, 49)]))


@pytest.mark.parametrize(("freedoms", "rays"), [(3, 3), (4, 4), (5, 4)])
def test_four_directions_are_explored_at_most(freedoms, rays, monkeypatch):
    assert len(poses(monkeypatch, freedoms)) == 1 + rays * 2 * 48


@pytest.mark.parametrize(("speeds", "explored"), [(60, True), (61, False)])
def test_a_machine_of_more_than_60_speeds_is_judged_at_its_initial_pose(speeds, explored, monkeypatch):
    assert (len(poses(monkeypatch, speeds, np.eye(speeds)[1:])) > 1) == explored


@pytest.mark.parametrize(("gap", "closed"), [(9e-7, True), (1.1e-6, False)])
def test_a_pose_on_the_way_is_closed_to_a_millionth(gap, closed, monkeypatch):
    assert (len(poses(monkeypatch, 2, [[0.0, 1.0]], gap)) > 1) == closed


@pytest.mark.parametrize(("share", "moves"), [(6e-13, False), (6e-12, True)])
def test_a_direction_that_keeps_a_trillionth_of_its_size_is_at_rest(share, moves, monkeypatch):
    # motions along (1, share - 1): the direction (1, 1) keeps share / 2
    assert (len(poses(monkeypatch, 2, [[1.0 - share, 1.0]])) > 1) == moves


@pytest.mark.parametrize("enough", [True, False])
def test_three_iterations_close_each_pose_of_a_turn(enough):
    eqs = da.equations(slider_crank(2.0, 5.0))
    x = da.assemble(eqs)
    A = eqs.kernel("rows")(x.q, x.v, x.z, np.zeros(eqs.nu), eqs.p, x.t)[0].reshape(len(eqs.rows), eqs.nv)
    found = coordinates._poses(eqs, SimpleNamespace(x=x, T=SimpleNamespace(A=A)), **({} if enough else {"newton": 2}))
    assert (len(found) == 1 + 2 * 48) == enough
