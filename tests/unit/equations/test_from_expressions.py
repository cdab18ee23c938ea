"""Equations from expressions: what follows from them, and mistakes with their place."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.equations import ACCELERATION, HOLONOMIC, VELOCITY, equations_from_expressions
from dalembert.errors import ModelError

SX = ca.SX


def symbols(*names: str) -> list[Any]:
    return [SX.sym(name) for name in names]


def test_a_pendulum_on_a_circle_has_the_rows_of_its_constraint() -> None:
    x, y, vx, vy = symbols("x", "y", "vx", "vy")
    eqs = equations_from_expressions(
        "pendulum", q=[x, y], v=[vx, vy], M=2 * SX.eye(2), f=[0, -2 * 9.81], phi={"rod": (x**2 + y**2 - 1) / 2},
        drawn={"x": 0.6, "y": -0.8},
    )  # fmt: skip
    A, b = eqs.kernel("rows")([0.6, -0.8], [0.4, 0.3], [], [], [], 0)
    assert np.allclose(A, [[0.6, -0.8]], rtol=0, atol=1e-15) and np.allclose(b, -(0.4**2 + 0.3**2), rtol=0, atol=1e-15)
    state = da.assemble(eqs, velocity={"x": 0.4})
    found = da.forward_dynamics(eqs, state)
    # tension m (g cos θ + L ω²) along the rod, λ = -tension: ω² = v², cos θ = 0.8
    speed = state.v @ state.v
    assert found.lam == pytest.approx([-2 * (9.81 * 0.8 + speed)], rel=1e-12)


def test_rows_of_every_level_stand_in_their_order() -> None:
    x, y, vx, vy, ax, ay, t = symbols("x", "y", "vx", "vy", "ax", "ay", "t")
    eqs = equations_from_expressions(
        "rows", q=[x, y], v=[vx, vy], a=[ax, ay], t=t, M=SX.eye(2), f=[0, 0], phi={"guide": x - t**2},
        c={"slip": vy - x * vx}, h={"law": ax + x * ay - vx**2},
    )  # fmt: skip
    assert [(row.owner, row.level) for row in eqs.rows] == [
        ("guide", HOLONOMIC), ("slip", VELOCITY), ("law", ACCELERATION)
    ]  # fmt: skip
    A, b = eqs.kernel("rows")([2, 0], [3, 5], [], [], [], 0.5)
    assert np.allclose(A, [[1, 0], [-2, 1], [1, 2]], rtol=0, atol=0)
    assert np.allclose(np.ravel(b), [2, 9, 9], rtol=0, atol=0)  # φ̈ = ẍ - 2 ; ċ = v̇y - x v̇x - vx² ; h


def test_a_full_and_a_singular_mass_matrix_are_solved() -> None:
    random = np.random.default_rng(1)
    root = random.normal(size=(6, 4))
    M = root @ root.T  # rank 4
    A = random.normal(size=(3, 6))
    f, b = random.normal(size=6), random.normal(size=3)
    q, v, a = SX.sym("q", 6), SX.sym("v", 6), SX.sym("a", 6)
    eqs = equations_from_expressions(
        "random", q=q, v=v, a=a, M=ca.DM(M), f=ca.DM(f), h={"rows": ca.DM(A) @ a - ca.DM(b)}
    )
    K = np.block([[M, -A.T], [A, np.zeros((3, 3))]])
    expected = np.linalg.solve(K, np.concatenate([f, b]))
    found = da.forward_dynamics(eqs, eqs.state())
    size = np.linalg.cond(K) * 1e-16 * np.abs(expected).max()
    assert np.abs(found.acceleration - expected[:6]).max() < 100 * size + 1e-9  # rows regularised by 1e-8, refined


def test_internal_states_outputs_and_parameters_are_channels() -> None:
    x, v, z, u, k = symbols("x", "v", "filter", "force", "k")
    eqs = equations_from_expressions(
        "mass", q=[x], v=[v], z=[z], u=[u], p=[k], M=1, f=u - k * x, g=x - z, outputs={"position": x + z},
        potential=k * x**2 / 2, parameter_values={"k": 3.0}, units={"x": "m", "position": "m"},
    )  # fmt: skip
    assert (eqs.nz, eqs.nu, eqs.ny, eqs.parameter_values) == (1, 1, 1, (3.0,))
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, {"x": 0.1}), every=0.1)
    assert np.ptp(run["energy"]) < 1e-9 * run["energy"][0] + 1e-11  # nothing but the spring: its energy is kept
    copy = pickle.loads(pickle.dumps(eqs))  # noqa: S301
    assert copy.content_hash == eqs.content_hash


def test_points_and_lines_are_a_scene_that_can_be_animated(tmp_path: Any) -> None:
    angle, rate = symbols("angle", "w")
    eqs = equations_from_expressions(
        "pendulum", q=[angle], v=[rate], M=1, f=-9.81 * ca.sin(angle), drawn={"angle": 0.4},
        points={"O": (0, 0), "bob": (ca.sin(angle), -ca.cos(angle))}, lines=[("O", "bob")],
    )  # fmt: skip
    run = da.simulate(eqs, 0.5, every=0.1)
    assert np.allclose(run["bob.x"], np.sin(run["angle"]), rtol=0, atol=1e-15)
    assert da.animate(run, str(tmp_path / "pendulum.html")) is not None
    assert eqs.scene is not None and eqs.scene.bodies[0].flexible is not None
    assert eqs.scene.bodies[0].flexible.lines == ((0, 1),)


def _bad(**changes: Any) -> Any:
    x, v, t = symbols("x", "v", "t")
    given: dict[str, Any] = {"q": [x], "v": [v], "t": t, "M": 1, "f": -x}
    return equations_from_expressions("bad", **{**given, **{key: make(x, v, t) for key, make in changes.items()}})


@pytest.mark.parametrize(
    ("changes", "code", "where"),
    [
        ({"f": lambda x, v, t: SX.sym("w") - x}, "foreign-symbol", {"function": "forces", "symbol": "w"}),
        ({"M": lambda x, v, t: 1 + v**2}, "foreign-symbol", {"function": "inertia", "symbol": "v"}),
        ({"f": lambda x, v, t: SX.sym("x")}, "foreign-symbol", {"function": "forces", "symbol": "x"}),
        ({"q": lambda x, v, t: [x, SX.sym("x")]}, "taken-name", {"symbol": "x"}),
        ({"v": lambda x, v, t: [x]}, "taken-name", {"symbol": "x"}),
        ({"q": lambda x, v, t: [x + 1]}, "wrong-type", {"argument": "q"}),
        ({"f": lambda x, v, t: [x, x]}, "wrong-shape", {"function": "forces"}),
        ({"M": lambda x, v, t: SX.eye(2)}, "wrong-shape", {"function": "inertia"}),
        ({"p": lambda x, v, t: [SX.sym("k")]}, "missing-argument", {"parameter": "k"}),
        ({"parameter_values": lambda x, v, t: {"k": 1.0}}, "unknown-name", {}),
        ({"drawn": lambda x, v, t: {"y": 1.0}}, "unknown-name", {}),
        ({"lines": lambda x, v, t: [("A", "B")]}, "unknown-name", {}),
        ({"points": lambda x, v, t: {"A": (x, 0), "B": (x, 0, 0)}}, "wrong-shape", {}),
        ({"phi": lambda x, v, t: {"row": v}}, "foreign-symbol", {"function": "position", "symbol": "v"}),
        ({"lam": lambda x, v, t: [SX.sym("l1")]}, "wrong-shape", {}),
    ],
)
def test_a_mistake_is_an_error_with_its_place(changes: Any, code: str, where: dict[str, str]) -> None:
    with pytest.raises(ModelError) as caught:
        _bad(**changes)
    assert caught.value.code == code
    assert where.items() <= dict(caught.value.where).items()


def test_a_row_that_is_not_affine_in_accelerations_is_named() -> None:
    x, v, a = symbols("x", "v", "a")
    with pytest.raises(ModelError) as caught:
        equations_from_expressions("bad", q=[x], v=[v], a=[a], M=1, f=0, h={"square": a**2})
    assert (caught.value.code, caught.value.where["row"]) == ("not-affine", "square")
