"""Live view: the animation page served on this machine, with a slider per joint coordinate.

Only loopback is served. The address contains a random token. Requests must name this host, so that another page cannot
use a name that resolves to 127.0.0.1. Request bodies must be JSON, which a form cannot send.
"""

from __future__ import annotations

import gzip
import json
import math
import secrets
import sys
import threading
import webbrowser
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import DalembertError, DataError
from dalembert.model.check import mode_names
from dalembert.record import Array
from dalembert.view.animation.animate import page_text
from dalembert.view.animation.machine_motion import still
from dalembert.view.animation.machine_scene import machine_data
from dalembert.view.animation.payload import pack

if TYPE_CHECKING:
    from dalembert.equations import EquationsOfMotion, State
    from dalembert.model import Mechanism


class LiveMachine:
    """A machine in one position, moved by its coordinates; responses to the browser.

    until, longest_run : of a run from the browser, usual and largest [s].  sliders : most of them.
    """

    def __init__(
        self, mechanism: Mechanism, eqs: EquationsOfMotion, start: State, *, until: float = 5.0,
        longest_run: float = 120.0, sliders: int = 40,
    ) -> None:  # fmt: skip
        self.longest_run = longest_run
        self.mechanism, self.eqs = mechanism, eqs
        self.first = self.state = start
        self._how = dict(mechanism.simulation)
        self.until = min(float(self._how.get("until", until)), longest_run)
        self._lock = threading.Lock()
        channels = ("x", "y", "angle") if mechanism.planar else ("x", "y", "z", "e0", "e1", "e2", "e3")
        self._poses = {body.name: [f"{body.name}.{c}" for c in channels] for body in mechanism.bodies}
        self._elastic = {body.name: mode_names(body) for body in mechanism.bodies if body.flexible is not None}
        driven = {eqs.full_name(driver.coordinate) for driver in mechanism.drivers}
        names = [(f"{joint.name}.{c[0]}", c[2]) for joint in mechanism.joints for c in joint.coordinates]
        self._names = [(name, unit) for name, unit in names if name not in driven][:sliders]

        joints = sorted(mechanism.joints, key=lambda joint: not (joint.a.body.is_ground or joint.b.body.is_ground))
        # coordinates that keep their values while another one moves: the last ones moved, else those at the ground
        every = [f"{joint.name}.{coordinate[0]}" for joint in joints for coordinate in joint.coordinates]
        self._order = [name for name in every if name not in driven]
        self._radius: float | None = None
        self.limits = _limits(mechanism)

    def values(self) -> dict[str, float]:
        """Joint coordinates."""
        return {name: self.state[name] for name, _ in self._names}

    def poses(self) -> dict[str, list[float]]:
        """Pose of every body."""
        return {body: [self.state[name] for name in names] for body, names in self._poses.items()}

    def make_picture(self) -> dict[str, Any]:
        """Data with which the page shows the machine in its position."""
        elastic = {body: [self.state[name] for name in names] for body, names in self._elastic.items()}
        return {"poses": self.poses(), "elastic": elastic, "values": self.values()}

    def move(self, name: str, value: float) -> dict[str, Any]:
        """Give a coordinate another value; the others keep theirs as far as possible.

        In a machine with k degrees of freedom, k - 1 other independent coordinates keep their values, first those that
        were moved last. Where the loops do not close in this way, the other coordinates move as little as possible. A
        large change is made in steps, so that a loop stays on its branch; where a step fails, the machine stays at
        the last one, and ``"error"`` has the reason.
        """
        with self._lock:
            units = dict(self._names)
            if not isinstance(name, str) or name not in units:
                raise DataError("unknown-name", f"no slider moves {name!r}.")
            value = real_number(f"the slider of {name}", value)
            low, high = self.limits.get(name, (-math.inf, math.inf))
            if not low <= value <= high:
                raise DataError(
                    "out-of-range",
                    f"{name} stops at {_with_unit(low, units[name])} and {_with_unit(high, units[name])}.",
                )
            others = self._independent(name)
            blocked = self._approach(name, value, others, 1.0 if units[name] == "rad" else self._size())
            self._order.remove(name)
            self._order.insert(0, name)
            far = _with_unit(self.state[name], units[name])
            error = {"error": f"{name} cannot move beyond {far}: there the joints do not close."} if blocked else {}
            return {**self.make_picture(), **error}

    def _approach(
        self,
        name: str,
        value: float,
        others: list[str],
        size: float,
        steps: int = 64,  # at most: a slider of a whole turn has 2π/0.12 = 53
        # rad, or part of the size of the machine: a slider that jumps is followed in such steps, on one branch.
        step: float = 0.12,
    ) -> bool:
        """Move to a value in steps; returns whether the joints block the way."""
        from dalembert.solve.position.assemble import assemble

        start = self.state[name]
        count = min(max(1, math.ceil(abs(value - start) / (step * size))), steps)
        held = {coordinate: self.state[coordinate] for coordinate in others}
        for k in range(1, count + 1):
            wanted = {name: start + (value - start) * k / count}
            try:
                self.state = assemble(self.eqs, held | wanted, start=self.state, restarts=0)
            except DalembertError:
                if not held:
                    return True
                try:
                    self.state = assemble(self.eqs, wanted, start=self.state, restarts=0)
                except DalembertError:
                    return True
                held = {}
        return False

    def _size(self) -> float:
        """Radius of the machine in its first position [m]."""
        if self._radius is None:
            self._radius = float(machine_data(still(self.eqs, self.first), 30, 1.0, [])["radius"])
        return self._radius

    def _independent(
        self,
        name: str,
        still: float = 1e-6,  # part of its gradient that a coordinate keeps where it moves at all
        # part of its motion that others do not have: 3°, below which holding both divides by little
        share: float = 0.05,
        # Singular value of the rows over the largest (or 1) that is zero: rows of an assembled pose are good to
        # 1e-12.
        rank: float = 1e-9,
    ) -> list[str]:
        """Coordinates that can keep their values while this one moves, the last ones moved first."""
        eqs, state = self.eqs, self.state
        A = eqs.kernel("rows").sparse(0, state.q, state.v, state.z, np.zeros(eqs.nu), eqs.p, state.t)
        S = eqs.kernel("measures").sparse(2, state.q, state.v, eqs.p, state.t)
        rows = A[eqs.holonomic_rows, :].toarray()
        _, sizes, right = np.linalg.svd(rows, full_matrices=True)
        free = right[int((sizes > rank * sizes.max(initial=1.0)).sum()) :]
        directions: list[Array] = []
        held = []
        for coordinate in [name, *(coordinate for coordinate in self._order if coordinate != name)]:
            row = S[[eqs.measures.index[coordinate]], :].toarray()[0]
            way = free @ row
            apart = way - sum((u * (u @ way) for u in directions), np.zeros(len(free)))
            size = float(np.linalg.norm(way))
            if size > still * np.linalg.norm(row) and np.linalg.norm(apart) > share * size:
                directions.append(apart / np.linalg.norm(apart))
                held.append(coordinate)
            if len(directions) == len(free):
                break
        return [coordinate for coordinate in held if coordinate != name]

    def reset(self) -> dict[str, Any]:
        """Back to the first position."""
        with self._lock:
            self.state = self.first
            return self.make_picture()

    def run(self, until: float) -> dict[str, Any]:
        """Simulate from here, with the speeds and inputs of the model; the data of the page."""
        from dalembert.loop.simulate import simulate

        if not isinstance(until, int | float) or not 0.0 < until <= self.longest_run:
            raise DataError(
                "out-of-range", f"a run takes more than 0 s and at most {self.longest_run:g} s, not {until!r}."
            )
        with self._lock:
            inputs = dict.fromkeys(self.eqs.inputs.names, 0.0) | dict(self._how.get("inputs", {}))
            how = {**self._how, "until": float(until), "inputs": inputs, "start": self.state, "progress": False}
            run = simulate(self.eqs, **how)
        return machine_data(run, 30, 1.0, [])

    def page(self) -> str:
        """The page of this machine."""
        with self._lock:
            values = self.values()
            data = machine_data(still(self.eqs, self.state, self.mechanism.name), 30, 1.0, [])
        room = 0.35  # of the radius of the drawing, left around it for the motion of the machine
        edge = room * data["radius"] * np.array([1.0, 1.0, 0.0 if self.mechanism.planar else 1.0])
        low, high = (np.array(data["low"]) - edge).tolist(), (np.array(data["high"]) + edge).tolist()
        data |= {"floor": data["low"][2], "low": low, "high": high, "radius": (1.0 + room) * data["radius"]}
        sliders = [self._slider(name, unit, values[name], data["radius"]) for name, unit in self._names]
        return page_text(data, connect="'self'", live={"coordinates": sliders, "until": self.until})

    def _slider(self, name: str, unit: str, value: float, radius: float) -> dict[str, Any]:
        reach = math.pi if unit == "rad" else radius if unit == "m" else 1.0
        stops = self.limits.get(name, (-math.inf, math.inf))
        low, high = max(min(-reach, value), stops[0]), min(max(reach, value), stops[1])
        slider = {"name": name, "unit": unit, "value": value, "low": min(low, value), "high": max(high, value)}
        return {**slider, "limits": True} if name in self.limits else slider


def _with_unit(value: float, unit: str) -> str:
    """As the sliders show it."""
    return f"{math.degrees(value):.1f}°" if unit == "rad" else f"{value:.4g} {unit}".strip()


def _limits(mechanism: Mechanism) -> dict[str, tuple[float, float]]:
    """Limits and stops of joint coordinates by their full names."""
    ranges = {name: limit.range for name, limit in mechanism.limits().items() if limit.range != (-math.inf, math.inf)}
    names = {f"{joint.name}.{c[0]}": joint for joint in mechanism.joints for c in joint.coordinates}
    for limits in filter(None, (force.limits() for force in mechanism.forces)):
        for name, joint in names.items():
            if limits.coordinate == name or (limits.coordinate == joint.name and len(joint.coordinates) == 1):
                low, high = ranges.get(name, (-math.inf, math.inf))
                low = low if limits.lower is None else max(low, limits.lower)
                ranges[name] = (low, high if limits.upper is None else min(high, limits.upper))
    return ranges


class _Handler(BaseHTTPRequestHandler):
    """Request handler of one live view; ``server`` is a `LiveServer`."""

    server: LiveServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "dalembert", ""
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing on the terminal."""

    def _check_request(self) -> str | None:
        """Path of the request, or None after a refusal."""
        port = self.server.server_address[1]
        if self.headers.get("Host") not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
            self.send_error(HTTPStatus.FORBIDDEN, "wrong host")
            return None
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://127.0.0.1:{port}", f"http://localhost:{port}"}:
            self.send_error(HTTPStatus.FORBIDDEN, "wrong origin")
            return None
        _, token, *tail = [*self.path.split("?", 1)[0].split("/", 2), ""]
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return tail[0]

    def do_GET(self) -> None:
        path = self._check_request()
        if path is None:
            return
        if path != "":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self._answer(self.server.live.page().encode(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        path = self._check_request()
        if path is None:
            return
        question = self._question()
        if question is None:
            return
        live = self.server.live
        acts: dict[str, Callable[[], Any]] = {
            "pose": lambda: live.move(question.get("name", ""), question.get("value", math.nan)),
            "reset": live.reset,
            "simulate": lambda: live.run(question.get("until", live.until)),
        }
        if path not in acts:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            answer = acts[path]()
        except DalembertError as error:
            answer = {"error": str(error), "values": live.values()}
        except Exception as error:  # the page shows any error, and the server continues
            answer = {"error": f"{type(error).__name__}: {error}", "values": live.values()}
        if "kind" in answer:
            self._answer(pack(answer), "application/octet-stream")
        else:
            self._answer(json.dumps(answer).encode(), "application/json")

    def _question(self, longest: int = 4096) -> dict[str, Any] | None:
        """The JSON object of a request, up to ``longest`` bytes; None after a refusal."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            self.send_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        elif not length.isdecimal() or len(length) > 9 or int(length) > longest:
            self.close_connection = True
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            try:
                question = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                question = None
            if isinstance(question, dict):
                return question
            self.send_error(HTTPStatus.BAD_REQUEST)
        return None

    def _answer(self, body: bytes, kind: str, compressed: int = 20_000) -> None:
        """Send an answer; from so many bytes on it is compressed.

        20 000 take 0.3 ms and become 5000; on loopback smaller ones gain nothing.
        """
        small = len(body) > compressed and "gzip" in self.headers.get("Accept-Encoding", "")
        body = gzip.compress(body, compresslevel=5) if small else body
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        if small:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)


class LiveServer(ThreadingHTTPServer):
    """A live view on loopback; a browser opens its ``address``."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a page that was closed during a response: this is not an error of the program."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def __init__(self, live: LiveMachine, port: int = 0) -> None:
        self.live = live
        self.token = secrets.token_urlsafe(16)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """Address with the token, which gives the right to move the machine."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    def close(self) -> None:
        """End a view that is served in the background."""
        self.shutdown()
        self.server_close()

    def __repr__(self) -> str:
        return f"LiveServer({self.address}; .close() ends it)"


def live_server(
    machine: object, eqs: EquationsOfMotion | None = None, start: State | None = None, *, port: int = 0
) -> LiveServer:
    """A server that is bound and not yet running: ``serve_forever()`` runs it, ``server_close()`` ends it."""
    from dalembert.mechanics import equations
    from dalembert.model import Mechanism
    from dalembert.solve.position.assemble import assemble

    if isinstance(machine, str | Path):
        from dalembert.files.models import read_model

        machine = read_model(machine)
    if not isinstance(machine, Mechanism):
        raise DataError("wrong-type", f"a live view shows a Mechanism or a model file, not a {type(machine).__name__}.")
    equations_ = equations(machine) if eqs is None else eqs
    if start is None:
        start = assemble(equations_, **machine.start)
    return LiveServer(LiveMachine(machine, equations_, start), port)


def view(
    machine: object,
    *,
    start: State | None = None,
    port: int = 0,
    browser: bool = True,
    block: bool | None = None,
) -> LiveServer:
    """Open the live view: a machine in the browser with a slider per joint, served on this machine only.

    Parameters
    ----------
    machine : a Mechanism, a model file, or the name of a library model.
    start : its first state; None: that of the model.
    port : 0 takes any that is free.
    browser : open one; else open ``address`` of the server by hand.
    block : True serves until Ctrl-C; False serves in the background until ``close()``; None: in the background at a
        prompt and in a notebook, else until Ctrl-C.

    Returns
    -------
    LiveServer, with its ``address`` and ``close()``.
    """
    server = live_server(machine, None, start, port=port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if browser:
        webbrowser.open(server.address)
    if block or (block is None and not hasattr(sys, "ps1")):
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            server.close()
    return server


def serve(
    machine: object,
    eqs: EquationsOfMotion | None = None,
    start: State | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    say: Callable[[str], None] | None = None,
) -> None:
    """Show a machine in the browser with a slider per joint, on this machine only, until Ctrl-C.

    Parameters
    ----------
    machine : a Mechanism, a model file, or the name of a library model.
    eqs, start : its equations and first state, where they exist already.
    port : 0 takes any that is free.
    browser : open one.
    say : receives the address.
    """
    server = live_server(machine, eqs, start, port=port)
    if say is not None:
        say(server.address)
    if browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
