"""What the page draws: axes that distinguish values, names beside bodies, pictures that fill their frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.record import Record
from tests.helpers.repetitions import few


def body(t: Any, **more: Any) -> dict[str, Any]:
    return {"b.x": 0 * t, "b.y": 0 * t, "b.angle": 0 * t, **more}


SCENE = {"planar": True, "bodies": [{"name": "b", "points": [[0, 0, 0], [1, 0, 0]], "lines": [[0, 1]]}]}


@pytest.mark.parametrize(("middle", "wide"), few([(1.0, 2e-5), (-3e5, 20.0), (0.0, 0.9), (0.0, 4e-7), (2.0, 1e-3)], 2))
def test_neighbouring_tick_labels_differ_and_there_are_two_at_least(
    visit: Any, tmp_path: Path, middle: float, wide: float
) -> None:
    t = np.linspace(0.0, 1.0, 101)
    others = {f"u{k}": np.sin(k * t) for k in range(1, 4)}  # four frames in one small plot
    values = body(t, place=middle + wide / 2 * np.sin(6 * t), **others)
    run = Record.from_channels(t, values, units={"place": "m", "u1": "N", "u2": "V", "u3": "A"}, scene=SCENE)
    da.animate(run, tmp_path / "a.html", channels=["place", "u1", "u2", "u3"])
    seen = visit(tmp_path / "a.html", "#t=0")
    for frame in seen.read("dalembert.plots.placed.map(f => f.ticks.map(k => [k.value, k.text]).filter(k => k[1]))"):
        texts = [text for _, text in frame]
        assert len(texts) >= 2
        assert len(set(texts)) == len(texts)
        for value, text in frame:
            assert float(text.replace("−", "-")) == pytest.approx(value, rel=1e-9, abs=1e-12)
    shown = {
        seen.read(f"dalembert.plots.reading(dalembert.plots.channels.names.indexOf('place'), {s})") for s in (0.0, 0.25)
    }
    assert len(shown) == 2  # the value beside the name moves too
    seen.quiet()


def boxes(seen: Any) -> list[tuple[str, list[float]]]:
    return [
        (one["text"], one["box"])
        for one in seen.read(
            "dalembert.stage.labels.filter(l => !l.hidden && l.element.textContent)"
            ".map(l => ({text: l.element.textContent, "
            " box: [l.shownAt[0], l.shownAt[1], l.shownAt[0] + l.wide, l.shownAt[1] + 16]}))"
        )
    ]


@pytest.mark.parametrize("name", few(["four-bar", "cart-pendulum", "quarter-car"]))
def test_names_lie_beside_bodies_and_not_on_each_other(visit: Any, tmp_path: Path, name: str) -> None:
    m = da.read_model(name)
    eqs = da.equations(m)
    da.animate(da.simulate(eqs, until=0.5, start=da.assemble(eqs, **m.start)), tmp_path / "a.html")
    seen = visit(tmp_path / "a.html", "#t=0.3", size=(1100, 760))
    seen.read("dalembert.stage.draw()")
    found = boxes(seen)
    assert len(found) >= 3
    for i, (_, a) in enumerate(found):
        for _, b in found[i + 1 :]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    if name == "four-bar":  # thin bars: a name has room beside every one of them
        bars = seen.read("dalembert.stage.obstacles().filter(o => o.cost === 2).map(o => o.ends)")
        for text, (left, top, right, bottom) in found:
            for a, b in bars:
                share = np.linspace(0, 1, 400)[:, None]
                p = np.array(a) + share * (np.array(b) - np.array(a))
                on = (p[:, 0] > left) & (p[:, 0] < right) & (p[:, 1] > top + 2) & (p[:, 1] < bottom - 2)
                assert not on.any(), text
    seen.quiet()


@pytest.mark.slow
def test_a_machine_in_space_fills_the_canvas(visit: Any, tmp_path: Path) -> None:
    m = da.Mechanism("tripod")
    for k in range(3):
        a = 2 * np.pi * k / 3
        leg = m.add_body(f"leg{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(np.cos(a), np.sin(a), 0.5))
        m.add_revolute(f"foot{k}", m.ground.at(np.cos(a), np.sin(a), 0), leg.at(0, 0, -0.5), axis=(0, 1, 0))
    eqs = da.equations(m)
    da.animate(da.simulate(eqs, until=0.05), tmp_path / "a.html")
    seen = visit(tmp_path / "a.html", "#t=0", size=(1000, 700))
    for view in ("iso", "front", "side", "top"):
        seen.page.click(f"[data-view={view}]")
        share = seen.read(
            "(() => { const c = dalembert.actor.cloud(), s = dalembert.stage, p = []; s.draw();"
            " for (let k = 0; k < c.length; k += 3) p.push(s.pixels(s.centre.clone().set(c[k], c[k+1], c[k+2])));"
            " const r = i => (Math.max(...p.map(q => q[i])) - Math.min(...p.map(q => q[i])));"
            " return [r(0) / s.width, r(1) / s.height]; })()"
        )
        # title and buttons take 58 of about 450 pixels, edges 34 of 1000 on either side
        assert 0.7 < max(share) < 1.0, (view, share)
    seen.quiet()


@pytest.mark.slow
def test_plates_are_clear_leaves_meet_their_floors_and_slots_are_as_long_as_the_pin_slides(
    visit: Any, tmp_path: Path
) -> None:
    m = da.Mechanism("yoke on a floor", planar=True)
    crank, yoke = (
        m.add_body("crank", mass=1.0, inertia=da.rod(0.2)),
        m.add_body("yoke", mass=1.0, inertia=da.box(0.1, 0.3)),
    )
    floor = m.add_body("floor", mass=1.0, inertia=da.box(0.6, 0.05))
    m.add_revolute("A", m.ground.at(0, 1), crank.at(-0.1, 0))
    m.add_prismatic("guide", m.ground.at(0, 1), yoke.at(0, 0), axis=(1, 0))
    m.add_pin_in_slot("slot", yoke.at(0, 0), crank.at(0.1, 0), axis=(0, 1))
    m.add_spring("return", joint="guide", stiffness=50.0)
    m.add_spring("winder", joint="A", stiffness=0.1)
    m.add_prismatic("storey", m.ground.at(0, 0.4), floor.at(0, 0), axis=(1, 0))
    m.add_spring("leaves", joint="storey", stiffness=100.0)
    eqs = da.equations(m)
    start = da.assemble(eqs, {"A.angle": 0.9, "storey.displacement": 0.05})
    run = da.simulate(eqs, until=0.5, start=start)
    da.animate(run, tmp_path / "a.html")
    seen = visit(tmp_path / "a.html", "#t=0")
    opacity = (
        "dalembert.actor.bodies.map(b => Math.min(...b.children.filter(c => c.isMesh).map(c => c.material.opacity)))"
    )
    assert seen.read(opacity)[1:] == pytest.approx([0.55, 0.55])
    # leaves reach from the ground to the lower edge of the floor, bent by its drift
    leaf = np.array(
        seen.read("Array.from(dalembert.actor.jointSprings[2].strips[0].geometry.attributes.position.array)")
    )
    leaf = leaf.reshape(-1, 2, 3).mean(axis=1)
    assert leaf[[0, -1], 1] == pytest.approx([0.0, 0.4 - 0.025], abs=1e-6)
    assert leaf[-1, 0] - leaf[0, 0] == pytest.approx(0.05, abs=1e-6)
    assert len(seen.read("dalembert.actor.jointSprings.map(() => 1)")) == 3
    # the slot: its two centres are as far apart as the pin slides
    pins = run["slot.displacement"]
    found = seen.read("dalembert.actor.strokeOf(dalembert.data.joints.find(j => j.name === 'slot'))")
    assert found == pytest.approx([pins.min(), pins.max()], abs=2e-3)
    seen.quiet()


@pytest.mark.slow
def test_rods_of_telescopes_are_thinner_than_their_tubes_and_alike_parts_have_one_colour(
    visit: Any, tmp_path: Path
) -> None:
    m = da.Mechanism("legs")
    for k in (1, 2):
        tube, rod = (m.add_body(f"leg{k}.{n}", mass=1.0, inertia=da.rod(0.5, axis="z")) for n in ("tube", "piston"))
        m.add_revolute(f"foot{k}", m.ground.at(k, 0, 0), tube.at(0, 0, -0.25), axis=(1, 0, 0))
        m.add_prismatic(f"stroke{k}", tube.at(0, 0, 0), rod.at(0, 0, -0.4), axis=(0, 0, 1))
    eqs = da.equations(m)
    da.animate(da.simulate(eqs, until=0.02), tmp_path / "a.html")
    seen = visit(tmp_path / "a.html", "#t=0")
    bars = "dalembert.actor.bodies.map(b => b.children.find(c => c.geometry.type === 'CylinderGeometry'))"
    radius = f"{bars}.map(bar => bar.geometry.parameters.radiusTop)"
    tubes, rods = np.array(seen.read(radius)).reshape(2, 2).T
    assert (rods < 0.7 * tubes).all()
    colors = seen.read("dalembert.actor.colors")
    assert colors[0] == colors[2] != colors[1] == colors[3]
    seen.quiet()


def test_a_joint_is_drawn_with_the_lines_and_the_legend_of_its_kind(visit: Any, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 11)
    joint = {
        "name": "J", "type": "a kind of another package", "glyph": "pin", "legend": "pin in a parabola", "body": "b",
        "point": [0, 0, 0], "other": {"body": None, "point": [0, 0, 0]}, "lines": [[[-1, 1, 0], [0, 0, 0], [1, 1, 0]]],
    }  # fmt: skip
    da.animate(Record.from_channels(t, body(t), scene={**SCENE, "joints": [joint]}), tmp_path / "a.html")
    seen = visit(tmp_path / "a.html", "#t=0")
    lines = "dalembert.stage.scene.children.filter(one => one.type === 'Line')"
    assert seen.read(f"{lines}.map(one => one.geometry.attributes.position.count)") == [3]
    seen.page.keyboard.press("?")
    assert "pin in a parabola" in seen.page.inner_text("#key")
    seen.quiet()


def test_force_arrows_carry_their_values(visit: Any, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 11)
    joint = {"name": "J", "type": "revolute", "body": "b", "point": [0, 0, 0]}
    values = body(t, **{"J.force.x": 3 + 0 * t, "J.force.y": 4 + 0 * t})
    da.animate(Record.from_channels(t, values, scene={**SCENE, "joints": [joint]}), tmp_path / "a.html")
    seen = visit(tmp_path / "a.html", "#t=0")
    label = "dalembert.actor.arrows[0].label.element.textContent"
    assert seen.read(label) == ""
    seen.page.click("#toggle-forces")
    assert seen.read(label) == "5 N"
    start = seen.read("dalembert.actor.arrows[0].arrow.position.toArray()")
    assert start[:2] == pytest.approx([0, 0], abs=1e-12)  # at the joint
    seen.quiet()
