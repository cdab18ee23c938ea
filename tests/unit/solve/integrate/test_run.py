"""A run under way, and what is left of it."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import dalembert as da
from dalembert.core.errors import ConvergenceError
from dalembert.solve.integrate import run
from tests.helpers.findings import raises


def test_a_run_is_freed_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks of states are large: they must not wait for the collector of circles."""
    m = da.Mechanism("pendulum", planar=True)
    m.add_revolute("A", m.ground.at(0, 0), m.add_body("rod", mass=1.0, inertia=da.rod(1.0)).at(-0.5, 0))
    runs = []
    make = run.Run.__init__

    def remember(self: run.Run, *arguments: Any) -> None:
        runs.append(weakref.ref(self))
        make(self, *arguments)

    monkeypatch.setattr(run.Run, "__init__", remember)
    gc.disable()
    try:
        da.simulate(da.equations(m), 0.1, method=da.RK4(step=0.01))
        assert [one() for one in runs] == [None]
    finally:
        gc.enable()


def check(code: str | None, *, change: float = 0.0, step: float = 1.0, gap: float = 0.0, **method: Any) -> None:
    """The judgement of one state at 0.5 s of a run of 1 s."""
    state = SimpleNamespace(
        where={"change": (2, 3)},
        method=SimpleNamespace(**{"iterates": False, "stabilise": None, "step": 0.1, **method}),
        eqs=SimpleNamespace(holonomic_rows=[0]),
        friction=True,
        gap=run.Run.gap,
        end=1.0,
        _gaps=lambda x: np.array([gap]),
        _widest=lambda x: "",
        _report_stuck=lambda x: ConvergenceError("step-too-small", "stuck"),
        _report_gap=lambda t, detail: ConvergenceError("joint-open", "open"),
    )
    with nullcontext() if code is None else raises(ConvergenceError, code):
        run.Run._check(state, np.array([0.5, step, change]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "inside", "outside"),
    [
        ("no-convergence", {"change": 0.9e-8, "iterates": True}, {"change": 1.1e-8, "iterates": True}),
        ("friction-unsettled", {"change": 0.9e-6}, {"change": 1.1e-6}),
        ("step-too-small", {"step": 1.1e-14}, {"step": 0.9e-14}),
        ("joint-open", {"gap": 0.9e-5}, {"gap": 1.1e-5}),
    ],
)
def test_a_state_of_a_run_is_sound_up_to_its_limits(code: str, inside: dict[str, Any], outside: dict[str, Any]) -> None:
    check(None, **inside)
    check(code, **outside)


@pytest.mark.parametrize(
    ("end", "moved", "made", "given_up"),
    [
        (1.5, 1.1e-9, 448, False),  # more than 1e-9 of the second that is left
        (1.5, 0.9e-9, 448, True),
        (1.5, 0.9e-9, 384, False),  # fewer than 400 attempts
        (1e12, 5.5e-4, 448, False),  # what is left counts up to 1e6 times the half second so far
        (1e12, 4.5e-4, 448, True),
    ],
)
def test_a_run_that_moves_on_by_a_billionth_in_400_attempts_has_stopped(
    end: float, moved: float, made: int, given_up: bool
) -> None:
    state = SimpleNamespace(
        where={"accepted": (2, 3), "rejected": (3, 4)}, method=SimpleNamespace(attempts=10**9), end=end, span=1.0,
        stretch=(0.5, 0.0), slow=(0.5, 0.0), first=np.zeros(1), _report_stuck=None, _report_spent=None,
    )  # fmt: skip
    before, after = np.array([0.5, 1.0, made - 64.0, 0.0]), np.array([[0.5 + moved, 1.0, float(made), 0.0]])
    row, _ = run.Run._judge_progress(state, before, after)  # type: ignore[arg-type]
    assert (row == 0) is given_up


@pytest.mark.parametrize(("load", "owner"), [(0.011, "motor"), (0.009, "hinge")])
def test_a_driver_with_a_hundredth_of_the_load_is_named_first(load: float, owner: str) -> None:
    rows = [SimpleNamespace(owner="hinge"), SimpleNamespace(owner="motor")]
    kernels = {"rows": SimpleNamespace(sparse=lambda *at: csr_matrix(np.eye(2))), "forces": lambda *at: (np.zeros(2),)}
    state = SimpleNamespace(
        eqs=SimpleNamespace(rows=rows, drivers=("motor",), kernel=kernels.__getitem__, p=np.zeros(0)),
        where={"q": (0, 0), "v": (0, 0), "z": (0, 0), "lam": (1, 3)},
        inputs=SimpleNamespace(values=lambda eqs, t: np.zeros((1, 0))),
    )
    assert run.Run._find_largest_load(state, np.array([0.0, 1.0, load]))[0] == owner  # type: ignore[arg-type]
