"""Mistakes with flexible linkages, from the modal test to the observer: each has its code, and says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DalembertError
from dalembert.identify import MeasuredLink, RayleighQuotients, expand_shapes, update
from dalembert.linear.modes import Modes
from dalembert.linkages import EquivalentRigidLinks, reduce_links
from dalembert.structures import EnergyBasedRanking, InteriorModeRanking, craig_bampton, rank_modes
from tests.helpers.bending_linkages import strip


def arm(**options: Any) -> EquivalentRigidLinks:
    """A horizontal arm under its weight, with a rigid block at its end."""
    m = da.Mechanism("arm", planar=True)
    body = m.add_body("arm", mass=1, inertia=0.1, center=(0, 0))
    block = m.add_body("block", mass=0.1, inertia=1e-3, position=(1.0, 0))
    m.add_revolute("A", m.ground.at(0, 0), body.at(0, 0))
    m.add_fixed("weld", body.at(1.0, 0), block.at(0, 0))
    return EquivalentRigidLinks(m, beams={"arm": strip("arm", 1.0, 1, middle=0.5)}, **options)


def chain(k: float) -> da.SecondOrder:
    return da.SecondOrder(np.eye(2), [[k + 1.0, -1.0], [-1.0, 1.0]], coordinates=["a", "b"])


def updated(modes: Modes, first: float = 1.0, **options: Any) -> Any:
    return update(chain, modes, {"k": first}, method=RayleighQuotients(), **options)


def at_resonance() -> Any:
    free = da.SecondOrder(np.eye(3), [[2, -1, 0], [-1, 2, -1], [0, -1, 2]], coordinates=["a", "b", "c"])
    return rank_modes(free, ["a"], EnergyBasedRanking({"a": 1.0}, float(free.modes().frequencies[1])))


def loose_chain() -> Any:
    loose = da.SecondOrder(np.eye(3), [[1, -1, 0], [-1, 1, 0], [0, 0, 0]], coordinates=["a", "b", "c"])
    return rank_modes(loose, ["a"], InteriorModeRanking(modes=[3]))


def resting() -> Any:
    eqs = da.equations(arm())
    return da.linearize(eqs, at=eqs.state())


def whole_ranking() -> Any:
    system = chain(1.0)
    return craig_bampton(system, ["a"], rank_modes(system, ["a"], InteriorModeRanking(modes=[1])))  # type: ignore[arg-type]


SENSED = Modes([3.0j], [[0.0], [0.1], [0.4]], ["s1", "s2", "s3"])
TWO = {"s1": 0.0, "s2": 0.1, "s3": 0.2}
MISTAKES = {
    "masters that leave rigid motion": (loose_chain, "singular-matrix"),
    "fewer sensors than the degree": (lambda: expand_shapes(SENSED, [MeasuredLink(TWO)], degree=3), "too-few-samples"),
    "modes without partner": (lambda: updated(Modes([1j, 2j, 3j], np.ones((2, 3)), ["a", "b"])), "too-few-modes"),
    "bounds that exclude the start": (lambda: updated(chain(1.0).modes(), bounds={"k": (1.5, 3.0)}), "out-of-range"),
    "a pose at no equilibrium": (resting, "not-at-rest"),
    "a pose at an unstable equilibrium": (lambda: updated(chain(1.0).modes(), first=-0.5), "unstable"),
    "S_0 singular": (lambda: arm(zeroed=["arm.2.x"]), "singular-matrix"),
    "a gauge on a rigid link": (lambda: arm(gauges={"g": ("block", 0.0)}), "no-modes"),
    "a gauge beyond its link": (lambda: arm(gauges={"g": ("arm", 1.5)}), "out-of-range"),
    "a harmonic at resonance": (at_resonance, "resonance"),
    "a ranking without a number of modes": (whole_ranking, "not-a-count"),
    "masters that are none": (lambda: reduce_links(arm(), ["arm.9.y"], modes=[1]), "unknown-name"),
}


@pytest.mark.parametrize(("make", "code"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_with_flexible_linkages_has_its_code_and_a_remedy(make: Any, code: str) -> None:
    with pytest.raises(DalembertError) as caught:
        make()
    error = caught.value
    assert error.code == code
    assert error.advice or "Known:" in str(error), str(error)
