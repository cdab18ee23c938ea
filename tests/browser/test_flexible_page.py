"""The page of a machine with flexible bodies: vertices follow the modes, a slider scales the deformation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.app.live.serve import live_server
from dalembert.record import Record
from dalembert.studies.machines import crank_rocker
from dalembert.view.animation.machine_motion import machine_motion
from tests.browser.conftest import Visit
from tests.helpers import flexible_parts
from tests.helpers.flexible_parts import LENGTH

SCALES = {0: 0.0, 4: 1.0, 12: 20.0, 22: 1000.0}  # stops of the slider
NOW = "Array.from(dalembert.actor.flexible.get('rod').now)"
TIME = 0.3


@pytest.fixture(scope="module", params=[False, True], ids=["plane", "space"])
def run(request: pytest.FixtureRequest) -> Record:
    spatial = request.param
    picture = flexible_parts.surface(True) if spatial else flexible_parts.lines(False)
    return flexible_parts.swing(picture, spatial=spatial)


@pytest.fixture(scope="module")
def page(browser: Any, run: Record, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    path = tmp_path_factory.mktemp("page") / "pendulum.html"
    da.animate(run, path, fps=200, trail=["rod.middle", "B"])
    one = Visit(browser, path.as_uri() + f"#t={TIME}")
    yield one
    one.context.close()


@pytest.fixture
def desk(page: Visit) -> Visit:
    """The page in true scale."""
    page.slide("#deformation-scale input", 4)
    return page


def expected(run: Record, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of the picture in axes of the frame (n, 3), and the middle node in the world: chord plus deflection."""
    motion = machine_motion(run)
    body = motion.scene.bodies[0].flexible
    assert body is not None
    k = int(np.argmin(np.abs(run.time - TIME)))
    eta = motion.elastic("rod")[:, k]
    points = np.array(body.points)
    moved = np.tensordot(eta, np.reshape(body.modes, (len(eta), -1, 3)), 1)
    tip = eta @ np.array(body.nodes[2].translation)
    # the joints stay: the root does not move, the tip turns the chord
    held = np.cross(np.cross([1.0, 0.0, 0.0], tip) / LENGTH, points)
    middle = eta @ np.array(body.nodes[1].translation)
    local = np.array([LENGTH / 2, 0, 0]) + tip / 2 + scale * (middle - tip / 2)
    there = motion.carry("rod", local[None, None])[k, 0]
    return points + held + scale * (moved - held), there


@pytest.mark.parametrize(("stop", "scale"), SCALES.items())
def test_the_slider_moves_the_vertices_from_undeformed_to_a_thousand_times(
    desk: Visit, run: Record, stop: int, scale: float
) -> None:
    desk.slide("#deformation-scale input", stop)
    places, middle = expected(run, scale)
    size = max(1.0, scale) * np.abs(run["rod.mode1"]).max()
    # single precision, coordinates in steps of a millionth of their range
    assert np.reshape(desk.read(NOW), (-1, 3)) == pytest.approx(places, abs=3e-6 * size)
    there = desk.read(f"dalembert.actor.world('rod', [{LENGTH / 2}, 0, 0]).toArray()")
    assert there == pytest.approx(middle, abs=2e-5 * size)
    corners = "dalembert.actor.flexible.get('rod').parts[0].geometry.attributes.position"
    assert desk.read(f"{corners}.version") > 0
    drawn = np.reshape(desk.read(f"Array.from({corners}.array)"), (-1, 3))
    assert np.ptp(drawn, axis=0) == pytest.approx(np.ptp(places, axis=0), abs=2.5 * desk.read("dalembert.actor.size"))
    desk.quiet()


def test_the_slider_says_its_scale_in_words(desk: Visit) -> None:
    said = []
    for stop in (0, 4, 12, 22):
        desk.slide("#deformation-scale input", stop)
        said.append(desk.page.locator("#deformation-scale output").text_content())
    assert said == ["undeformed", "true scale", "× 20", "× 1000"]
    assert "Largest deflection: " in desk.page.locator("#deformation-words").text_content()


def test_joints_stay_closed_in_every_scale_and_springs_end_at_the_deformed_node(desk: Visit, run: Record) -> None:
    for stop, scale in SCALES.items():
        desk.slide("#deformation-scale input", stop)
        tip = desk.read(f"dalembert.actor.world('rod', [{LENGTH}, 0, 0]).toArray()")
        assert tip == pytest.approx(desk.read("dalembert.positions().bob"), abs=1e-4 + 1e-6 * scale)
        assert not desk.read("dalembert.actor.gaps.some(({ line }) => line.visible)")
        spring = desk.read("dalembert.actor.springs[0].one.position.toArray()")
        assert spring == pytest.approx(expected(run, scale)[1], abs=2e-5 * max(1.0, scale))


def test_trails_of_nodes_follow_the_scale(desk: Visit, run: Record) -> None:
    frame = round(TIME / 0.4 * (desk.read("dalembert.data.frames") - 1))
    trail = (
        "(() => { const a = dalembert.actor.traces.lines[0].line.geometry.attributes.instanceStart;"
        f" return [a.getX({frame}), a.getY({frame}), a.getZ({frame})]; }})()"
    )
    for stop in (4, 12):
        desk.slide("#deformation-scale input", stop)
        assert desk.read(trail) == pytest.approx(expected(run, SCALES[stop])[1], abs=1e-4 * SCALES[stop])
    desk.quiet()


def test_colours_show_the_deflection(desk: Visit) -> None:
    colors = "new Set(Array.from(dalembert.actor.flexible.get('rod').parts[0].geometry.attributes.color.array)).size"
    assert desk.read(colors) == 1
    desk.page.click("#toggle-colours")
    assert desk.read(colors) > 10
    desk.page.click("#toggle-colours")
    assert desk.read(colors) == 1
    desk.quiet()


@pytest.mark.slow
def test_a_machine_of_rigid_bodies_has_no_such_slider(visit: Any, tmp_path: Path) -> None:
    da.animate(crank_rocker.simulate(0.2), tmp_path / "rigid.html")
    seen = visit(tmp_path / "rigid.html", "#t=0")
    assert seen.page.locator("#deformation-scale").count() == 0
    assert not seen.page.locator("#panel").is_visible()


@pytest.mark.filterwarnings("ignore::dalembert.core.errors.ModelWarning")  # modes without stiffness by loads
def test_modes_of_a_machine_bend_its_flexible_bodies(visit: Any, tmp_path: Path) -> None:
    eqs = da.equations(flexible_parts.pendulum(flexible_parts.lines(False)))
    made = da.animate(eqs, tmp_path / "modes.html")._data
    seen = visit(tmp_path / "modes.html", "#t=0")
    seen.page.locator("#modes button").nth(2).click()
    body = made["bodies"][0]["flexible"]
    for amplitude in (0.0, 1.0, 2.0):
        seen.slide("#deformation input", amplitude)
        eta = body["values"][:, 0] + amplitude * body["shapes"][2]
        places = body["points"] + np.tensordot(eta, body["modes"], 1)
        assert np.reshape(seen.read(NOW), (-1, 3)) == pytest.approx(places, abs=1e-6)
    assert seen.page.locator("#deformation-scale").is_visible()
    seen.quiet()


@pytest.mark.filterwarnings("ignore::dalembert.core.errors.SimulationWarning")  # modes without stiffness by loads
def test_the_live_view_moves_a_flexible_machine(visit: Any) -> None:
    server = live_server(flexible_parts.pendulum(flexible_parts.lines(False)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        server.live.until = 0.2
        seen = visit(server.address)
        seen.slide("input[data-knob='A.angle']", 0.5)
        seen.until("Math.abs(dalembert.actor.bodies[0].rotation.z - 0.5) < 0.01")
        seen.page.click("#run")
        seen.until("dalembert.player.playing", patience=60.0)
        seen.read("dalembert.seek(0.2)")
        assert max(abs(x) for x in seen.read("Array.from(dalembert.actor.flexible.get('rod').eta)")) > 1e-3
        seen.quiet()
    finally:
        server.close()
        thread.join()


@pytest.mark.filterwarnings("ignore::dalembert.core.errors.SimulationWarning")  # modes without stiffness by loads
def test_a_joint_that_the_scale_draws_apart_has_a_line_between_its_sides(visit: Any, tmp_path: Path) -> None:
    m = flexible_parts.pendulum(flexible_parts.lines(False))
    rod = m.bodies[0]
    load = m.add_body("load", mass=0.1, inertia=1e-4, position=(LENGTH / 2, 0))
    m.add_revolute("C", rod.at("middle"), load.at(0, 0))  # a third joint: no rigid motion follows all of them
    run = da.simulate(da.equations(m), 0.2, every=0.005, progress=False)
    da.animate(run, tmp_path / "three.html")
    seen = visit(tmp_path / "three.html", "#t=0.1")
    line = "dalembert.actor.gaps.find(({ joint }) => joint.name === 'C').line"
    assert not seen.read(f"{line}.visible")
    seen.slide("#deformation-scale input", 12)
    assert seen.read(f"{line}.visible")
    ends = seen.read(f"Array.from({line}.geometry.attributes.position.array)")
    assert ends[:3] == pytest.approx(seen.read("dalembert.positions().load"), abs=1e-5)
    assert ends[3:] == pytest.approx(
        seen.read(f"dalembert.actor.world('rod', [{LENGTH / 2}, 0, 0]).toArray()"), abs=1e-4
    )
    seen.quiet()


@pytest.mark.slow
def test_a_bent_body_is_drawn_shorter_and_joints_stay_closed(browser: Any, tmp_path: Path) -> None:
    """A strip with geometric stiffness: its last vertex is where the bob is, at its lowest and in any scale."""
    run = flexible_parts.stiffened_swing(planar=False)
    lowest = float(run.time[np.argmin(run["tip.z"])])
    da.animate(run, tmp_path / "strip.html", fps=200)
    seen = Visit(browser, (tmp_path / "strip.html").as_uri() + f"#t={lowest}")
    for stop in (4, 12):
        seen.slide("#deformation-scale input", stop)
        now = np.reshape(seen.read(NOW), (-1, 3))
        assert now[:, 0].max() < LENGTH - 1e-3
        tip = seen.read(f"dalembert.actor.world('rod', [{LENGTH}, 0, 0]).toArray()")
        if stop == 4:
            assert tip == pytest.approx(seen.read("dalembert.positions().bob"), abs=1e-5)
            assert now[np.argmax(now[:, 0])] == pytest.approx(tip, abs=1e-5)
    assert not seen.said  # fixed joints have no symbol, and no complaint about it
    seen.context.close()
