"""The live view: sliders in a browser move the machine, and nobody else may."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.app.live.serve import LiveMachine, LiveServer, live_server
from dalembert.core.errors import DataError
from dalembert.studies.machines import crank_rocker
from tests.helpers.findings import raises


@pytest.fixture
def server() -> Iterator[LiveServer]:
    one = live_server(crank_rocker.mechanism())
    thread = threading.Thread(target=one.serve_forever, daemon=True)
    thread.start()
    yield one
    one.shutdown()
    one.server_close()
    thread.join()


def ask(server: LiveServer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    port = int(server.server_address[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    sent = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json", **headers}
    connection.request(method, path, None if body is None else json.dumps(body), sent)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_a_slider_moves_the_machine_and_the_loop_stays_closed(visit: Any, server: LiveServer) -> None:
    seen = visit(server.address)
    before = seen.read("dalembert.positions()")
    seen.slide("input[data-knob='A.angle']", 1.0)
    seen.until(f"Math.abs(dalembert.positions().crank[0] - {before['crank'][0]}) > 1e-3")
    moved = seen.read("dalembert.positions()")
    # the crank turns about the origin, its centre 0.1 m away; sliders step by a two-thousandth of their range
    assert moved["crank"][:2] == pytest.approx([0.1 * 0.5403, 0.1 * 0.8415], abs=5e-4)
    assert server.live.values()["A.angle"] == pytest.approx(1.0, abs=4e-3)
    seen.page.click("#reset")
    seen.until(f"Math.abs(dalembert.positions().crank[0] - {before['crank'][0]}) < 1e-6")
    seen.quiet()


def test_let_it_go_plays_a_short_run(visit: Any, server: LiveServer) -> None:
    server.live.until = 1.0
    seen = visit(server.address)
    seen.page.click("#run")
    seen.until("dalembert.player.playing")
    assert seen.read("dalembert.data.end") == 1.0
    assert seen.read("dalembert.plots.channels.time.length") > 10
    seen.quiet()


def test_sliders_follow_while_it_plays_and_plots_show_joints(visit: Any, server: LiveServer) -> None:
    server.live.until = 1.0
    seen = visit(server.address)
    seen.page.click("#run")
    seen.until("dalembert.player.playing")
    shown = seen.read("dalembert.plots.shown")
    assert shown and not {name for name in shown if name.startswith(("crank.", "coupler.", "rocker."))}
    for t in (0.3, 0.8):
        seen.read(f"dalembert.seek({t})")
        for name in ("A.angle", "D.angle"):
            k = seen.read(f"dalembert.plots.channels.names.indexOf('{name}')")
            there = seen.read(f"dalembert.plots.valueAt({k}, {t})")
            at = float(seen.read(f"document.querySelector(\"input[data-knob='{name}']\").value"))
            # a slider shows an angle within one turn, and steps by a two-thousandth of it
            assert np.angle(np.exp(1j * (at - there))) == pytest.approx(0.0, abs=4e-3)
    seen.quiet()


@pytest.mark.slow
def test_feet_stand_in_the_live_view_as_they_do_in_an_animation(visit: Any, tmp_path: Any) -> None:
    m = da.Mechanism("arm")
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(1.0, axis="z"), position=(0, 0, 0.5))
    m.add_revolute("foot", m.ground.at(0, 0, 0), arm.at(0, 0, -0.5), axis=(0, 1, 0))
    da.animate(da.simulate(da.equations(m), until=0.01), tmp_path / "a.html")
    parts = "dalembert.actor.grounded.children.map(one => one.children.length)"  # a foot on a post has more
    with live_server(m) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert visit(server.address).read(parts) == visit(tmp_path / "a.html", "#t=0").read(parts) == [2]
        server.shutdown()


def test_on_a_phone_the_machine_has_most_of_the_screen_and_its_buttons_are_seen(visit: Any, server: LiveServer) -> None:
    seen = visit(server.address, size=(420, 800))
    assert seen.page.locator("#panel").bounding_box()["height"] <= 0.4 * 800
    for name in ("#reset", "#run", "#theme"):
        box = seen.page.locator(name).bounding_box()
        assert box["y"] + box["height"] <= 800 and box["x"] + box["width"] <= 420


def test_a_position_that_cannot_be_reached_is_reported(visit: Any, server: LiveServer) -> None:
    seen = visit(server.address)
    seen.slide("input[data-knob='D.angle']", -3.0)  # a rocker does not turn round
    seen.page.wait_for_selector("#notice:visible")
    assert seen.page.locator("#notice").text_content()


def test_the_other_joints_of_an_arm_keep_their_angles() -> None:
    arm = da.Mechanism("arm", planar=True)
    upper, fore, hand = (arm.add_body(name, mass=1.0, inertia=da.rod(1.0)) for name in ("upper", "fore", "hand"))
    for name, a, b in (("s", arm.ground.at(0, 0), upper), ("e", upper.at(0.5, 0), fore), ("w", fore.at(0.5, 0), hand)):
        arm.add_revolute(name, a, b.at(-0.5, 0))
    eqs = da.equations(arm)
    live = LiveMachine(arm, eqs, da.assemble(eqs, {"s.angle": 0.1, "e.angle": 0.2, "w.angle": 0.3}))
    live.move("e.angle", 1.5)
    assert live.values() == pytest.approx({"s.angle": 0.1, "e.angle": 1.5, "w.angle": 0.3}, abs=1e-9)


def test_the_last_moved_crank_of_a_five_bar_stays() -> None:
    with live_server("five-bar") as server:
        live = server.live
    before = live.values()
    live.move("left.shoulder.angle", before["left.shoulder.angle"] + 0.1)
    moved = live.move("right.shoulder.angle", before["right.shoulder.angle"] - 0.1)["values"]
    assert moved["left.shoulder.angle"] == pytest.approx(before["left.shoulder.angle"] + 0.1, abs=1e-9)
    assert moved["right.shoulder.angle"] == pytest.approx(before["right.shoulder.angle"] - 0.1, abs=1e-9)


def test_a_slider_that_jumps_stays_on_its_branch_and_a_blocked_one_where_it_got_to() -> None:
    with live_server(crank_rocker.mechanism()) as server:
        live = server.live
    before = live.values()
    live.move("A.angle", before["A.angle"] + 2 * np.pi)  # once round: a crank-rocker is closed as it was
    for name in ("C.angle", "D.angle"):
        assert live.values()[name] == pytest.approx(before[name], abs=1e-7)
    found = live.move("D.angle", -3.0)  # a rocker does not turn round
    assert "cannot move beyond" in found["error"]
    assert found["values"]["D.angle"] == live.values()["D.angle"] != before["D.angle"]
    state = live.state
    assert np.abs(live.eqs.kernel("position")(state.q, live.eqs.p, state.t)[0]).max() < 1e-9


def test_stops_bound_their_slider_and_driven_joints_have_none() -> None:
    m = da.Mechanism("arm", planar=True)
    upper, fore = (m.add_body(name, mass=1.0, inertia=da.rod(1.0)) for name in ("upper", "fore"))
    m.add_revolute("s", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("e", upper.at(0.5, 0), fore.at(-0.5, 0))
    m.add_stop("bounds", "s", lower=-0.5, upper=1.0, stiffness=1e5)
    m.add_driver("motor", "e.angle", lambda t: 0.3 + 0 * t)
    with live_server(m) as server:
        live = server.live
    assert list(live.values()) == ["s.angle"]
    slider = live._slider("s.angle", "rad", 0.0, 1.0)
    assert (slider["low"], slider["high"], slider["limits"]) == (-0.5, 1.0, True)
    with raises(DataError, "out-of-range", "-28.6°", "57.3°"):
        live.move("s.angle", 1.2)


def test_what_fails_inside_is_reported_and_the_server_goes_on(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: LiveMachine) -> dict[str, Any]:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(LiveMachine, "reset", broken)
    status, answer = ask(server, "POST", f"/{server.token}/reset", {})
    assert status == 200
    assert json.loads(answer)["error"] == "ZeroDivisionError: inside"
    assert ask(server, "GET", f"/{server.token}/")[0] == 200


def test_only_this_machine_is_served(server: LiveServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/{token}/", {}, 200),
        ("GET", "/", {}, 404),
        ("GET", "/wrong/", {}, 404),
        ("GET", "/{token}/other", {}, 404),
        ("GET", "/{token}/", {"Host": "elsewhere.example"}, 403),
        ("POST", "/{token}/pose", {"Origin": "http://elsewhere.example"}, 403),
        ("POST", "/{token}/pose", {"Content-Type": "text/plain"}, 415),
        ("POST", "/{token}/other", {}, 404),
    ],
)
def test_a_request_needs_the_token_the_host_and_json(
    server: LiveServer, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    body = {"name": "A.angle", "value": 1.0} if method == "POST" else None
    assert ask(server, method, path.format(token=server.token), body, **headers)[0] == status


@pytest.mark.parametrize(
    "question",
    [
        {"name": "A.angle", "value": "x"},
        {"name": "nobody", "value": 1},
        {},
        {"name": 3, "value": None},
        {"name": ["A.angle"], "value": 1},
        {"name": "A.angle", "value": True},
        {"name": "A.angle", "value": int("9" * 3000)},
    ],
)
def test_a_question_without_sense_is_answered_with_a_sentence(server: LiveServer, question: dict[str, Any]) -> None:
    status, answer = ask(server, "POST", f"/{server.token}/pose", question)
    assert status == 200
    assert "slider" in json.loads(answer)["error"] and "Error" not in json.loads(answer)["error"]


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 3000])
def test_what_is_no_json_object_is_refused(server: LiveServer, text: str) -> None:
    port = int(server.server_address[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", f"/{server.token}/reset", text, {"Content-Type": "application/json"})
    assert connection.getresponse().status == 400
    connection.close()


def test_a_question_that_is_too_long_is_refused(server: LiveServer) -> None:
    assert ask(server, "POST", f"/{server.token}/pose", {"name": "a" * 5000, "value": 1.0})[0] == 413


def test_a_length_of_5000_digits_is_refused(server: LiveServer) -> None:
    assert ask(server, "POST", f"/{server.token}/pose", **{"Content-Length": "9" * 5000})[0] == 413


@pytest.mark.slow
def test_a_run_that_leaves_the_picture_is_shown_whole_and_can_be_followed(visit: Any) -> None:
    m = da.Mechanism("cart", planar=True)
    cart = m.add_body("cart", mass=1.0, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.simulation.update(until=1.0)
    with live_server(m) as server:
        server.live.first = server.live.state = da.assemble(server.live.eqs, velocity={"rail": 12.0})
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seen = visit(server.address)
        assert not seen.page.locator("#follow").is_visible()
        seen.page.click("#run")
        seen.until("dalembert.player.playing")
        seen.read("dalembert.seek(1.0)")
        across = "dalembert.stage.pixels(dalembert.actor.bodies[0].position)[0] / dalembert.stage.width"
        assert 0.0 < seen.read(across) < 1.0
        seen.page.select_option("#follow", label="cart")
        places = []
        for t in (0.2, 0.9):
            seen.read(f"dalembert.seek({t})")
            places.append(seen.read(across))
        assert places[0] == pytest.approx(places[1], abs=1e-3)  # of the width: the camera moves with it
        seen.page.click("#reset")
        seen.until("Math.abs(dalembert.positions().cart[0]) < 1e-6")
        assert not seen.page.locator("#follow").is_visible()
        seen.quiet()
        server.shutdown()
