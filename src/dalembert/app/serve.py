"""Live view: the animation page served on this machine, with a slider per joint coordinate.

Only loopback is served. The address holds a random token, requests must name this very host (so that a page from
elsewhere cannot reach in by a name that resolves to 127.0.0.1), and questions must be JSON, which a form cannot send.
"""

from __future__ import annotations

import gzip
import json
import math
import secrets
import threading
import webbrowser
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, DataError
from dalembert.record import Record
from dalembert.view.animation import page_text
from dalembert.view.machine_scene import machine_data
from dalembert.view.payload import packed

if TYPE_CHECKING:
    from dalembert.equations import EquationsOfMotion, State
    from dalembert.model import Mechanism

LONGEST_QUESTION = 4096  # bytes
MOST_SLIDERS = 40
UNTIL = 5.0  # s of a run from the browser
_LONGEST_RUN = 120.0  # s
_ROOM = 0.35  # of the radius of the drawing, left around it for what the machine may reach


class LiveMachine:
    """A machine in one position, moved by its coordinates; what the browser asks for, without the browser."""

    def __init__(self, mechanism: Mechanism, eqs: EquationsOfMotion, start: State) -> None:
        self.mechanism, self.eqs = mechanism, eqs
        self.first = self.state = start
        self._how = dict(mechanism.simulation)
        self.until = min(float(self._how.get("until", UNTIL)), _LONGEST_RUN)
        self._lock = threading.Lock()
        channels = ("x", "y", "angle") if mechanism.planar else ("x", "y", "z", "e0", "e1", "e2", "e3")
        self._poses = {body.name: [f"{body.name}.{c}" for c in channels] for body in mechanism.bodies}
        self._names = [
            (f"{joint.name}.{coordinate[0]}", coordinate[2]) for joint in mechanism.joints
            for coordinate in joint.coordinates
        ][:MOST_SLIDERS]  # fmt: skip

        joints = sorted(mechanism.joints, key=lambda joint: not (joint.a.body.is_ground or joint.b.body.is_ground))
        # those that are held while another one moves: the last ones moved, else those at the ground
        self._order = [f"{joint.name}.{coordinate[0]}" for joint in joints for coordinate in joint.coordinates]
        self._dof: int | None = None

    def values(self) -> dict[str, float]:
        """Joint coordinates."""
        return {name: self.state[name] for name, _ in self._names}

    def poses(self) -> dict[str, list[float]]:
        """Pose of every body."""
        return {body: [self.state[name] for name in names] for body, names in self._poses.items()}

    def move(self, name: str, value: float) -> dict[str, Any]:
        """Give a coordinate another value, the others held as far as the machine is free to.

        Of a machine with k degrees of freedom k - 1 other coordinates keep their values; where it cannot be closed that
        way, what is not prescribed moves as little as possible.
        """
        from dalembert.solve.assemble import assemble

        with self._lock:
            known = dict(self._names)
            if name not in known or not isinstance(value, int | float) or not math.isfinite(value):
                raise DataError(f"no slider moves {name!r} to {value!r}.")
            others = [one for one in self._order if one != name][: max(self._freedom() - 1, 0)]
            wanted = {name: float(value)}
            try:
                self.state = assemble(self.eqs, {one: self.state[one] for one in others} | wanted, start=self.state)
            except DalembertError:
                if not others:
                    raise
                self.state = assemble(self.eqs, wanted, start=self.state)
            self._order.remove(name)
            self._order.insert(0, name)
            return {"poses": self.poses(), "values": self.values()}

    def _freedom(self) -> int:
        """Degrees of freedom, counted once."""
        from dalembert.solve.mobility import mobility

        if self._dof is None:
            self._dof = mobility(self.eqs, self.first).dof
        return self._dof

    def reset(self) -> dict[str, Any]:
        """Back to the first position."""
        with self._lock:
            self.state = self.first
            return {"poses": self.poses(), "values": self.values()}

    def run(self, until: float) -> dict[str, Any]:
        """Let go from here, with the speeds and inputs of the model; the data of the page."""
        from dalembert.solve.integrate import simulate

        if not isinstance(until, int | float) or not 0.0 < until <= _LONGEST_RUN:
            raise DataError(f"a run takes more than 0 s and at most {_LONGEST_RUN:g} s, not {until!r}.")
        with self._lock:
            inputs = dict.fromkeys(self.eqs.inputs.names, 0.0) | dict(self._how.get("inputs", {}))
            how = {**self._how, "until": float(until), "inputs": inputs, "start": self.state, "progress": False}
            run = simulate(self.eqs, **how)
        return machine_data(run, 30, 1.0, [])

    def page(self) -> str:
        """The page of this machine."""
        with self._lock:
            columns = {
                name: [value] for body in self._poses for name, value in zip(self._poses[body], self.poses()[body])
            }
            values = self.values()
            still = Record.from_channels([0.0], columns, name=self.mechanism.name, scene=self.eqs.scene)
        data = machine_data(still, 30, 1.0, [])
        edge = _ROOM * data["radius"] * np.array([1.0, 1.0, 0.0 if self.mechanism.planar else 1.0])
        low, high = (np.array(data["low"]) - edge).tolist(), (np.array(data["high"]) + edge).tolist()
        data |= {"low": low, "high": high, "radius": (1.0 + _ROOM) * data["radius"]}
        sliders = [self._slider(name, unit, values[name], data["radius"]) for name, unit in self._names]
        return page_text(data, connect="'self'", live={"coordinates": sliders, "until": self.until})

    def _slider(self, name: str, unit: str, value: float, radius: float) -> dict[str, Any]:
        reach = math.pi if unit == "rad" else radius if unit == "m" else 1.0
        return {"name": name, "unit": unit, "value": value, "low": min(-reach, value), "high": max(reach, value)}


class _Handler(BaseHTTPRequestHandler):
    """Answers of one live view; ``server`` is a `LiveServer`."""

    server: LiveServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "dalembert", ""
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal belongs to the user."""

    def _allowed(self) -> str | None:
        """What is asked for, where the request may ask at all."""
        port = self.server.server_address[1]
        if self.headers.get("Host") not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
            self.send_error(HTTPStatus.FORBIDDEN, "wrong host")
            return None
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://127.0.0.1:{port}", f"http://localhost:{port}"}:
            self.send_error(HTTPStatus.FORBIDDEN, "wrong origin")
            return None
        _, token, *rest = [*self.path.split("?", 1)[0].split("/", 2), ""]
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return rest[0]

    def do_GET(self) -> None:
        asked = self._allowed()
        if asked is None:
            return
        if asked != "":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self._answer(self.server.live.page().encode(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        asked = self._allowed()
        if asked is None:
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
        if asked not in acts:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            found = acts[asked]()
        except DalembertError as error:
            found = {"error": str(error)}
        if "kind" in found:
            self._answer(packed(found), "application/octet-stream")
        else:
            self._answer(json.dumps(found).encode(), "application/json")

    def _question(self) -> dict[str, Any] | None:
        """The JSON object that was sent; None after saying what is wrong with it."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            self.send_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        elif not length.isdecimal() or int(length) > LONGEST_QUESTION:
            self.close_connection = True
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            try:
                found = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                found = None
            if isinstance(found, dict):
                return found
            self.send_error(HTTPStatus.BAD_REQUEST)
        return None

    def _answer(self, body: bytes, kind: str) -> None:
        small = len(body) > 20_000 and "gzip" in self.headers.get("Accept-Encoding", "")
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
    """A live view on loopback; ``address`` is what a browser opens."""

    daemon_threads = True

    def __init__(self, live: LiveMachine, port: int = 0) -> None:
        self.live = live
        self.token = secrets.token_urlsafe(16)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """With its token: whoever has it may move the machine."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"


def live_server(
    machine: Any, eqs: EquationsOfMotion | None = None, start: State | None = None, *, port: int = 0
) -> LiveServer:
    """A server that is bound and not yet running: ``serve_forever()`` runs it, ``server_close()`` ends it."""
    from dalembert.mechanics import equations
    from dalembert.model import Mechanism
    from dalembert.solve.assemble import assemble

    if isinstance(machine, str | Path):
        from dalembert.files.models import read_model

        machine = read_model(machine)
    if not isinstance(machine, Mechanism):
        raise DataError(f"a live view shows a Mechanism or a model file, not a {type(machine).__name__}.")
    own = equations(machine) if eqs is None else eqs
    if start is None:
        start = assemble(own, **machine.start)
    return LiveServer(LiveMachine(machine, own, start), port)


def serve(
    machine: Any,
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
    say : is told the address.
    """
    server = live_server(machine, eqs, start, port=port)
    if say is not None:
        say(f"live view at {server.address} (Ctrl-C ends it)")
    if browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
