"""Welds: between points bodies become parallel, and a drawing that shows an angle is asked about."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.body_files import bent_link
from tests.helpers.findings import warns


def two_bars(planar: bool, angle: float, weld: Any) -> da.Mechanism:
    m = da.Mechanism("bend", planar=planar)
    turned = {"angle": angle} if planar else {"rotation": da.rotation(axis=(0, 0, 1), angle=angle)}
    c, s, rest = math.cos(angle), math.sin(angle), () if planar else (0.0,)
    a = m.add_body("a", mass=1.0, inertia=0.1, position=(0.5, 0.0, *rest))
    b = m.add_body("b", mass=1.0, inertia=0.1, position=(1.0 + 0.5 * c, 0.5 * s, *rest), **turned)
    m.add_fixed("foot", m.ground.at(0.0, 0.0, *rest), a.at(-0.5, 0.0, *rest))
    weld(m, a, b, rest)
    m.add_sensor("tip", da.position(b.at(0.5, 0.0, *rest)))
    return m


def tip(m: da.Mechanism) -> np.ndarray:
    eqs = da.equations(m)
    found = da.forward_dynamics(eqs, da.assemble(eqs))
    return np.array([found["tip.x"], found["tip.y"]])


def by_points(m: da.Mechanism, a: Any, b: Any, rest: tuple[float, ...]) -> None:
    m.add_fixed("knee", a.at(0.5, 0.0, *rest), b.at(-0.5, 0.0, *rest))


def by_place(m: da.Mechanism, a: Any, b: Any, rest: tuple[float, ...]) -> None:
    m.add_fixed("knee", a, b, at=(1.0, 0.0, *rest))


@pytest.mark.parametrize("planar", [True, False])
def test_a_weld_between_points_that_straightens_a_drawn_bend_warns(planar: bool):
    with warns(da.errors.ModelWarning, "straightened", "'knee'", "45", "at="):
        m = two_bars(planar, math.pi / 4, by_points)
    assert tip(m) == pytest.approx([2.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = two_bars(planar, math.pi / 4, by_place)
    assert tip(kept) == pytest.approx([1.0 + math.sqrt(0.5), math.sqrt(0.5)])


def test_flexible_bodies_drawn_at_an_angle_are_asked_about_too():
    m = da.Mechanism("two links")
    first = m.add_flexible_body("first", bent_link(), position=(0, 0, 0))
    turn = da.rotation(axis=(0, 0, 1), angle=1.0)
    second = m.add_flexible_body("second", bent_link(), position=(0.5, 0.2, 0.3), rotation=turn)
    with warns(da.errors.ModelWarning, "straightened", "57.3"):
        m.add_fixed("weld", first.at("tip"), second.at("root"))


def test_a_payload_welded_at_its_origin_has_no_direction_in_the_drawing():
    m = da.Mechanism("arm", planar=True)
    arm = m.add_body("arm", mass=1.0, inertia=0.1, position=(0.5, 0.5), angle=0.8)
    load = m.add_body("load", mass=1.0, inertia=0.1, position=(1.0, 1.0))
    m.add_fixed("grip", arm.at(0.7, 0.0), load.at(0, 0))
    turned = m.add_body("turned", mass=1.0, inertia=0.1, angle=0.3)  # without a position: not drawn
    m.add_fixed("weld", arm.at(-0.7, 0.0), turned.at(0.1, 0.0))
