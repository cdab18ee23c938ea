"""Rows of joints solved with few operations: open chains joint by joint, loops with little fill (spec 004, C12)."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.estimate import model_kinematics
from dalembert.estimate.kinematic.closing import Closing, SparseRows
from dalembert.solve.position.prescribed_motion import targets_of

JOINTS = [f"q{k}.angle" for k in range(1, 7)]


@cache
def arm() -> da.EquationsOfMotion:
    m = da.read_model("six-joint-arm")
    for name in ("turret", "upper_arm", "forearm", "wrist", "hand", "tool"):
        body = next(body for body in m.bodies if body.name == name)
        m.add_sensor(f"acc {name}", da.accelerometer(body.at(0.05, 0.03, 0.02)))
    return da.equations(m)


@pytest.mark.parametrize("rows", [7, 9], ids=["as many rows as columns", "redundant rows"])
@pytest.mark.parametrize("seed", range(4))
def test_sparse_rows_are_solved_as_numpy_solves_them(rows: int, seed: int) -> None:
    """A lower triangle of blocks in a random order, with some plain numbers; two right-hand sides."""
    random = np.random.default_rng(seed)
    pattern = np.tril(random.random((rows, 7)) < 0.4)
    pattern[np.arange(7), np.arange(7)] = True
    pattern[[3, 4], [4, 3]] = True  # a block of two
    values = np.where(pattern, random.normal(size=(rows, 7)), 0.0)[random.permutation(rows)][:, random.permutation(7)]
    if rows > 7:  # rows that agree with the others
        values[7:] = random.normal(size=(rows - 7, 7)) @ values[:7]
    x = random.normal(size=(7, 2))
    at = [(i, j) for i, j in np.argwhere(values) if random.random() < 0.8]
    symbols = ca.SX.sym("a", len(at))
    matrix = ca.SX(ca.sparsify(ca.DM(values)))
    for k, (i, j) in enumerate(at):
        matrix[int(i), int(j)] = symbols[k]
    found = SparseRows(matrix).solve(ca.SX(ca.DM(values @ x)))
    numbers = ca.Function("f", [symbols], [found])([values[i, j] for i, j in at])
    scale = np.linalg.cond(values)
    np.testing.assert_allclose(np.array(numbers), x, rtol=0, atol=1e-14 * scale**2)


def test_an_arm_is_closed_joint_by_joint() -> None:
    """Blocks of three rows, and a third of the operations that one block of eighteen takes (17 000)."""
    closing = Closing(arm(), targets_of(arm(), JOINTS))
    q, p, t = ca.SX.sym("q", arm().nq), ca.SX.sym("p", len(arm().parameters)), ca.SX.sym("t")
    blocks = closing.rows(q, p, t).orthogonal
    assert blocks is not None
    assert max(len(rows) for rows, *_ in blocks.parts) <= 3
    assert closing.close.n_instructions() < 6000


@pytest.mark.spec("004-C12")
def test_an_arm_in_space_reads_what_the_analysis_of_its_motion_says() -> None:
    """Six hinges, six accelerometers of three axes: S z̈ + bias against the recursion of the kinematic analysis."""
    inputs = [name for name in arm().outputs.names if name.startswith("acc")]
    model = model_kinematics(arm(), independent=JOINTS, inputs=inputs, outputs=JOINTS)
    rates, seconds = np.linspace(-2.0, 3.0, 6), np.linspace(5.0, -8.0, 6)
    begin = np.array([0.2, -0.5, 1.0, 0.3, 0.4, -0.6])
    motion = {name: (lambda t, k=k: begin[k] + rates[k] * t + seconds[k] / 2 * t**2) for k, name in enumerate(JOINTS)}
    run = da.kinematics(arm(), 0.1, motion=motion, every=0.1)
    for k in (0, 1):
        speeds = rates + seconds * run.time[k]
        at = {name: float(run[name][k]) for name in JOINTS}
        at |= {name.replace("angle", "rate"): float(speeds[j]) for j, name in enumerate(JOINTS)}
        relation = model.relation(at)
        read = [run[name][k] for name in inputs]
        np.testing.assert_allclose(relation.S @ seconds + relation.bias, read, rtol=0, atol=1e-10)  # of 30 m/s²
