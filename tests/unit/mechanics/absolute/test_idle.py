"""Spins without effect: the numbers just inside and just outside."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dalembert.mechanics.absolute.idle import _massless_axis, _on_line


def is_idle(inertia: float = 0.0, beside: float = 0.0) -> bool:
    """A rod along x whose ball joints lie 2 m along it, one of them beside it."""
    body: Any = SimpleNamespace(name="rod", inertia=((inertia, 0, 0), (0, 1, 0), (0, 0, 1)))
    ground = SimpleNamespace(body=SimpleNamespace(name="ground"))
    frames = [SimpleNamespace(body=body, coordinates=place) for place in ((2.0, 0.0, 0.0), (-2.0, beside, 0.0))]
    joints = [SimpleNamespace(holds=True, kind="spherical", a=ground, b=frame) for frame in frames]
    m: Any = SimpleNamespace(joints=joints, constraints=(), drivers=(), forces=())
    return _massless_axis(m, body) is not None


@pytest.mark.parametrize(("inertia", "idle"), [(0.5e-14, True), (2e-14, False)])
def test_a_spin_with_1e_14_of_the_largest_inertia_has_none(inertia: float, idle: bool) -> None:
    assert is_idle(inertia) is idle


@pytest.mark.parametrize(("beside", "idle"), [(1.9e-9, True), (2.1e-9, False)])
def test_a_joint_lies_on_the_line_of_a_body_to_a_billionth_of_its_distance(beside: float, idle: bool) -> None:
    assert is_idle(beside=beside) is idle


@pytest.mark.parametrize(("beside", "on_line"), [(1.9e-9, True), (2.1e-9, False)])
def test_three_joints_lie_on_a_line_to_a_billionth_of_its_length(beside: float, on_line: bool) -> None:
    assert _on_line((1.0, beside, 0.0), (0.0, 0.0, 0.0), (2.0, 0.0, 0.0)) is on_line
