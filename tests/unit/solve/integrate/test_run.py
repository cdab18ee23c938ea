"""A run under way, and what is left of it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import dalembert as da
from dalembert.solve.integrate import run


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
