"""A kind of coupler of another package: names of its parts, found through an entry point."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.kinds import COUPLERS
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

BELT = """
from dalembert.model.couplings import COUPLERS, CouplerKind

COUPLERS.register(
    "belt",
    CouplerKind(
        "Two pulleys that a belt turns alike.",
        first=("driving", "joint of the driving pulley"),
        second=("driven", "joint of the driven pulley"),
        ratio=("ratio", "radius of the driving pulley over that of the driven one", ""),
        offset=("offset", "angle of the driven pulley where the other is at zero", "angle"),
    ),
)
"""
RATIO, INERTIA = 0.25, 0.01


@pytest.fixture
def belt() -> Iterator[None]:
    exec(BELT, {"__name__": "guest_belt"})
    yield
    COUPLERS.unregister("belt")


def pulleys() -> da.Mechanism:
    m = da.Mechanism("pulleys", planar=True, gravity=0)
    small, large = (m.add_body(name, mass=1.0, inertia=INERTIA) for name in ("small", "large"))
    m.add_revolute("A", m.ground.at(0, 0), small.at(0, 0))
    m.add_revolute("B", m.ground.at(1, 0), large.at(0, 0))
    m.add_coupler("belt", "V", "A", "B", ratio=RATIO, offset=0.5)
    m.add_spring("S", joint="A", stiffness=4.0)
    return m


def frequency() -> float:
    """Both pulleys turn: the inertia at the driving one is J (1 + ratio²)."""
    return float((4.0 / (INERTIA * (1 + RATIO**2))) ** 0.5)


def test_a_new_coupler_turns_both_joints_and_stays_in_a_model_file(belt: None, tmp_path: Path) -> None:
    m = pulleys()
    eqs = da.equations(m)
    start = da.assemble(eqs, {"A.angle": 0.8}, velocity={"A.angle": 2.0})
    assert start["B.angle"] == pytest.approx(0.8 * RATIO + 0.5, abs=1e-9)
    assert start["B.rate"] == pytest.approx(2.0 * RATIO, abs=1e-9)
    assert da.linearize(eqs).modes().frequencies[0] == pytest.approx(frequency(), rel=1e-9)
    da.write_model(m, tmp_path / "pulleys.toml")
    assert 'driving = "A"' in (tmp_path / "pulleys.toml").read_text()
    assert da.equations(da.read_model(tmp_path / "pulleys.toml")).content_hash == eqs.content_hash
    with raises(ModelError, "zero", "'W'", "ratio"):
        m.add_coupler("belt", "W", "A", "B", ratio=0.0)


@pytest.mark.slow
def test_the_installed_command_reads_a_model_with_a_new_coupler(belt: None, tmp_path: Path) -> None:
    install(tmp_path, "guest_belt", BELT, "dalembert.couplers")
    da.write_model(pulleys(), tmp_path / "pulleys.toml")
    found = dalembert(tmp_path, "modes", tmp_path / "pulleys.toml", "--json")
    assert found.returncode == 0, found.stderr
    first = json.loads(found.stdout)["modes"][0]["frequency_hz"]
    assert first == pytest.approx(frequency() / 6.283185307179586, rel=1e-9)
