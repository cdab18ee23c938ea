"""Frames cut into welded pieces: the whole again for small motion, large deflections, places and gauges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import dalembert as da
from dalembert.structures import BeamGauge, Frame, Rayleigh, Section, flexible_body, flexible_pieces
from tests.helpers.findings import raises
from tests.helpers.repetitions import few

LENGTH, HEIGHT, WIDTH = 0.5, 0.004, 0.03
SECTION = Section.rectangle(HEIGHT, WIDTH).without_shear()


def strip(planar: bool = True, elements: int = 8) -> Frame:
    f = Frame("strip", planar=planar, gravity=0)
    size = 2 if planar else 3
    places = np.zeros((3, size))
    places[:, 0] = 0.0, 0.2, LENGTH
    f.add_points(["root", "mid", "tip"], places)
    f.add_beam("inner", "root", "mid", section=SECTION, material="steel", elements=elements)
    f.add_beam("outer", "mid", "tip", section=SECTION, material="steel", elements=elements)
    return f


def clamped(planar: bool, pieces: int, **how: Any) -> tuple[da.Mechanism, Any]:
    m = da.Mechanism("clamped strip", planar=planar, gravity=0)
    blade = m.add_flexible_pieces("blade", flexible_pieces(strip(planar), pieces=pieces, **how),
                                  position=(0.0,) * (2 if planar else 3))  # fmt: skip
    m.add_fixed("clamp", m.ground.at(*(0.0,) * (2 if planar else 3)), blade.at("root"))
    return m, blade


@pytest.mark.parametrize("planar", few([True, False]))
def test_the_pieces_vibrate_as_the_whole_does(planar: bool):
    """Rayleigh and Ritz: never below the frequencies of the whole; within 1 % of the first two by five pieces."""
    m, blade = clamped(planar, 5)
    eqs = da.equations(m)
    lin = da.linearize(eqs, at=da.assemble(eqs))
    count = 2 if planar else 3
    whole = flexible_body(strip(planar), basis="clamped", fixed="root", modes=count).frequencies
    found = np.sort(lin.modes().frequencies)[:count]
    assert (found > (1 - 1e-6) * whole).all() and (found < 1.01 * whole).all()
    assert len(blade.bodies) == 5 and len(m.joints) == 5  # four welds, and the clamp


def test_pieces_are_as_equal_as_they_can_be_and_every_point_of_the_frame_has_its_place():
    cut = flexible_pieces(strip(), pieces=5)
    assert np.allclose(np.diff(cut.places[:, 0], append=LENGTH), 0.1)
    m, blade = clamped(True, 5)
    assert blade.at("mid").body.name == "blade2" and blade.at("tip").body.name == "blade5"
    assert blade.at(0.3, 0.0).body.name == "blade3"
    with raises(da.errors.ModelError, "no-node", "(0.3, 0)"):
        blade.at(0.31, 0.0)
    with raises(da.errors.ModelError, "unknown-name", "tip"):
        blade.at("tipp")
    start = da.assemble(da.equations(m))
    assert start["blade5.x"] == pytest.approx(0.4)


def test_a_turned_drawing_turns_all_pieces():
    m = da.Mechanism("upright")
    up = da.rotation(axis=(0, 1, 0), angle=-np.pi / 2)
    blade = m.add_flexible_pieces("blade", flexible_pieces(strip(False), pieces=4), position=(1, 2, 3), rotation=up)
    tip = blade.bodies[-1]
    assert np.allclose(np.array(tip.position) + tip.turn(blade.at("tip").coordinates), [1, 2, 3 + LENGTH])


def test_a_bent_frame_with_a_branch_is_welded_where_its_beams_meet():
    f = Frame("fork", planar=True, gravity=0)
    f.add_points(["foot", "knot", "left", "right"], [[0, 0], [0, 0.3], [-0.2, 0.4], [0.2, 0.4]])
    for end in ("foot", "left", "right"):
        f.add_beam(f"to {end}", "knot", end, section=SECTION, material="steel", elements=8)
    m = da.Mechanism("fork", planar=True, gravity=0)
    fork = m.add_flexible_pieces("fork", flexible_pieces(f, pieces=6), position=(0, 0))
    m.add_fixed("clamp", m.ground.at(0, 0), fork.at("foot"))
    eqs = da.equations(m)
    found = np.sort(da.linearize(eqs, at=da.assemble(eqs)).modes().frequencies)[:3]
    whole = flexible_body(f, basis="clamped", fixed="foot", modes=3).frequencies
    assert (found > (1 - 1e-6) * whole).all() and (found < 1.02 * whole).all()


@pytest.mark.slow
def test_pieces_bend_as_far_as_the_elastica():
    """A cantilever under a dead load F with F L²/EI = 1 (Bisshopp and Drucker 1945): y/L = 0.3017.

    The error of plain pieces falls with the square of their length, that of stiffened ones to the extension of the bar:
    at most F/EA = h²/12 L² of its length, which the elastica does not have.
    """
    EI = 2.1e11 * SECTION.I_z
    load = EI / LENGTH**2
    line = solve_bvp(lambda s, y: np.vstack([y[1], -load / EI * np.cos(y[0])]),
                     lambda a, b: np.array([a[0], b[1]]), np.linspace(0, LENGTH, 50), np.zeros((2, 50)),
                     tol=1e-9)  # fmt: skip
    s = np.linspace(0, LENGTH, 2001)
    exact = np.trapezoid(np.sin(line.sol(s)[0]), s)
    assert abs(exact) == pytest.approx(0.3017 * LENGTH, abs=1e-4)
    errors = []
    for pieces, stiffening in ((5, False), (10, False), (10, True)):
        m, blade = clamped(True, pieces, damping=Rayleigh(beta=1e-2), stiffening=stiffening)
        m.add_force("load", blade.at("tip"), lambda s: (0.0, -load * da.where(s.t < 1.0, s.t, 1.0)))
        m.add_sensor("tip", da.position(blade.at("tip")))
        run = da.simulate(da.equations(m), 8.0, method=da.GeneralizedAlpha(step=0.02, rho=0.2), every=0.5)
        errors.append(abs(abs(run["tip.y"][-1]) - abs(exact)))
    assert errors[1] < 0.35 * errors[0] and errors[1] < 5e-3 * abs(exact)
    assert errors[2] < HEIGHT**2 / (12 * LENGTH**2) * LENGTH


def test_gauges_are_on_the_piece_that_has_their_place():
    gauges = {"foot": BeamGauge(0.03, y=HEIGHT / 2, beam="inner"), "far": BeamGauge(0.15, y=HEIGHT / 2, beam="outer")}
    cut = flexible_pieces(strip(), pieces=5, gauges=gauges)
    assert [[g.name for g in one.gauges] for one in cut.pieces] == [["foot"], [], [], ["far"], []]
    m = da.Mechanism("strip", planar=True, gravity=0)
    blade = m.add_flexible_pieces("blade", cut, position=(0, 0))
    assert da.strain(blade, "far").body.name == "blade4"
    with raises(da.errors.ModelError, "unknown-name", "none"):
        m.add_sensor("none", da.strain(blade, "none"))
    with raises(da.errors.ModelError, "out-of-range", "far"):
        flexible_pieces(strip(), pieces=5, gauges={"far": BeamGauge(0.4, beam="outer")})


def test_what_cannot_be_cut_is_refused():
    for change, code in (
        (lambda f: f.add_support("root"), "not-supported"),
        (lambda f: f.add_mass("end", "tip", 0.1), "not-supported"),
        (lambda f: f.add_bar("tie", "root", "tip", section=SECTION, material="steel"), "not-supported"),
    ):
        frame = strip()
        change(frame)
        with raises(da.errors.ModelError, code):
            flexible_pieces(frame, pieces=4)
    with raises(da.errors.ModelError, "not-supported"):
        flexible_pieces(strip(), pieces=4, damping=0.01)  # type: ignore[arg-type]
    for pieces in (1, 2.5, True):
        with raises(da.errors.DataError, "not-a-count"):
            flexible_pieces(strip(), pieces=pieces)  # type: ignore[arg-type]
    m = da.Mechanism("strip", planar=True)
    with raises(da.errors.ModelError, "wrong-type", "flexible_pieces"):
        m.add_flexible_pieces("blade", strip())


def test_a_beam_of_a_model_file_is_cut_into_pieces(tmp_path: Path):
    (tmp_path / "blade.toml").write_text("""
        name = "blade"
        planar = true
        gravity = 0
        [bodies.blade]
        position = [0, 0]
        beam = {length = 0.5, height = 0.004, width = 0.03, material = "steel", pieces = 5, nodes = {mid = 0.2}}
        [joints.clamp]
        type = "fixed"
        a = "ground(0, 0)"
        b = "blade.start"
        [sensors.middle]
        type = "position"
        point = "blade.mid"
        [sensors.cut]
        type = "position"
        point = "blade(0.4, 0)"
    """)
    eqs = da.equations(da.read_model(tmp_path / "blade.toml"))
    m, _ = clamped(True, 5)
    other = da.equations(m)
    found, expected = (np.sort(da.linearize(one, at=da.assemble(one)).modes().frequencies)[:3] for one in (eqs, other))
    assert np.allclose(found, expected, rtol=1e-6)
