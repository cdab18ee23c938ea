"""Group ``symbolic``: equations derived on the expression graph, beside SymPy's mechanics.

A chain of links with hinges about z, y, x (spatial) or z (planar), and the benchmark bicycle, given as bodies and
frames, then as a Lagrangian of SymPy: from the description to M and f as numbers at one state, then one evaluation
more, then LaTeX to read.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Answer, Emit, Row, ask, cpu_time, peer_python
from benchmarks.symbolic_problems import BICYCLE, LINK, hinges, state

SIZES = {"planar": range(2, 11), "spatial": range(3, 9)}
GOALS = {("spatial", 5): 1 / 20, ("spatial", 7): 1 / 50, ("planar", 10): 1 / 20}
LARGE = {"spatial": 7, "planar": 10}  # sizes whose evaluation and text are measured
EVALUATION, TEXT, GIVEN_LAGRANGIAN = 1 / 20, 1.0, 1 / 10
AGREEMENT = 1e-9  # of M and f of both, relative to their largest entry
METHODS = ("kane", "lagrange")
LIMITS = {"kane": 120.0, "lagrange": 60.0}  # seconds; a larger chain is not tried by a method that met its limit
ONCE = 5.0  # CPU seconds; a longer derivation is measured once


def rows() -> list[Row]:
    result: list[Row] = []
    for kind, sizes in SIZES.items():
        out_of_time: set[str] = set()
        for count in sizes:
            task = {"machine": kind, "count": count}
            mine = _best(lambda k, t=task: ask("benchmarks.symbolic", "ours", {**t, "briefly": k > 0}))
            peers = {}
            for method in METHODS:
                if method in out_of_time:
                    peers[method] = {"status": "skipped", "reason": "a smaller chain met the time limit"}
                    continue
                peers[method] = _peer({**task, "method": method})
                if "cpu" not in peers[method]:
                    out_of_time.add(method)
            result.append(_row(f"symbolic/{kind}, n = {count}", mine, peers, GOALS.get((kind, count))))
            if LARGE[kind] == count:
                result += _more(kind, count, mine, peers)
    task = {"machine": "bicycle", "method": "kane"}
    mine = _best(lambda k: ask("benchmarks.symbolic", "ours_bicycle", task))
    peer = _peer({**task, "q": mine.get("q", [0.0] * 4), "v": mine.get("v", [0.0] * 6)})
    result.append(_row("symbolic/bicycle", mine, {"kane": peer}, None))
    return result


def _more(kind: str, count: int, mine: dict[str, Any], peers: dict[str, dict[str, Any]]) -> list[Row]:
    """Evaluation, text and, of the spatial chain, a Lagrangian of SymPy."""
    details = {"details": _short(mine, peers)}
    evaluations = {name: peer.get("us") for name, peer in peers.items()}
    derivations = {f"{name}, derivation": peer.get("derive_s") for name, peer in peers.items()}
    found = [
        Row(f"symbolic/{kind}, n = {count}, evaluation", "us", mine.get("us"), evaluations, EVALUATION, extra=details),
        Row(f"symbolic/{kind}, n = {count}, LaTeX", "s", mine.get("latex_s"), derivations, TEXT, extra=details),
    ]
    if kind == "spatial":
        task = {"machine": kind, "count": count}
        given = _best(lambda k: ask("benchmarks.symbolic", "given_lagrangian", task))
        found.append(_row(f"symbolic/{kind}, n = {count}, given a SymPy Lagrangian", given, peers, GIVEN_LAGRANGIAN))
    return found


def _peer(task: dict[str, Any]) -> dict[str, Any]:
    where, limit = "benchmarks.peers.sympy_mechanics", LIMITS[task["method"]]
    return _best(lambda k: ask(where, "measure", {**task, "briefly": k > 0}, python=peer_python(), limit=limit))


def _best(measure: Callable[[int], Answer]) -> dict[str, Any]:
    """Figures of the first process, with the time of the fastest of three; a long one runs once."""
    first = _figures(measure(0))
    if first.get("cpu", np.inf) > ONCE:
        return first
    others = [_figures(measure(k)) for k in (1, 2)]
    fastest = min((first, *others), key=lambda one: one.get("cpu", np.inf))
    return {**first, **{key: fastest[key] for key in ("cpu", "derive_s", "code_s", "first_s")}}


def _figures(answer: Answer) -> dict[str, Any]:
    """All lines of a process in one, with its status; a later line has the better figure."""
    found: dict[str, Any] = {}
    for line in answer.lines:
        found |= line
    status = answer.status if "cpu" not in found else "ok"
    return {**found, "status": status, "reason": "" if status == "ok" else answer.reason or "no figure"}


def _row(name: str, mine: dict[str, Any], peers: dict[str, dict[str, Any]], goal: float | None) -> Row:
    error = max((_gap(mine, peer) for peer in peers.values() if "cpu" in peer and "cpu" in mine), default=None)
    memory = ", ".join(
        f"{who} {one['memory_mb']:.0f} MB" for who, one in {"ours": mine, **peers}.items() if "memory_mb" in one
    )
    note = f"memory of the process: {memory}; by {mine.get('formalism', '?')}"
    if error is not None and error > AGREEMENT:
        note += f"; M and f DISAGREE by {error:.1e}"
    extra: dict[str, Any] = {"details": _short(mine, peers), "note": note}
    if error is not None:
        extra["error"] = error
    return Row(name, "s", mine.get("cpu"), {who: peer.get("cpu") for who, peer in peers.items()}, goal, extra=extra)


def _short(mine: dict[str, Any], peers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Figures of everybody, without the numbers that are compared."""
    return {
        who: {key: value for key, value in one.items() if key not in ("M", "f", "a", "q", "v")}
        for who, one in {"ours": mine, **peers}.items()
    }


def _gap(one: dict[str, Any], two: dict[str, Any]) -> float:
    """Largest difference of M and f (of the bicycle: accelerations), relative to the largest entry."""
    worst = 0.0
    for key in ("a",) if "a" in one else ("M", "f"):
        a, b = np.array(one[key]), np.array(two[key])
        worst = max(worst, float(np.abs(a - b).max() / np.abs(b).max()))
    return worst


# --- ours ------------------------------------------------------------------------------------------------------------


def chain(kind: str, count: int) -> Any:
    """The chain as bodies and frames."""
    import dalembert as da

    s = da.symbolic.System(kind)
    m, length, c, Ix, Iy, Iz, g = (s.parameter(name, value) for name, value in LINK.items())
    s.set_gravity((0, -g, 0))
    turned, point = None, np.zeros(3)
    for k, axis in enumerate(hinges(kind, count)):
        turned = s.rotation("xyz"[axis], [s.coordinate(f"q{k}")], base=None if kind == "planar" else turned)
        along = turned.matrix[:, 0]
        s.add_body(f"link{k}", m, (Ix, Iy, Iz), point + c * along, rotation=turned)
        point = point + length * along
    return s


def numbers(derivation: Any, q: Any, v: Any) -> Callable[[], list[Any]]:
    """A call that evaluates M and f at a state."""
    kernel, p = derivation.kernel, np.array(list(LINK.values()))
    return lambda: kernel(q, v, (), p, 0.0)


def ours(task: dict[str, Any], emit: Emit) -> None:
    """By Kane's equations, as the peer's faster method; the first derivation of the process counts."""
    import dalembert as da

    q, v = state(task["count"])
    _load()
    before = _memory()
    parts: dict[str, float] = {}
    parts["derive_s"], derivation = cpu_time(lambda: da.symbolic.kane(chain(task["machine"], task["count"])))
    parts["code_s"], evaluate = cpu_time(lambda: numbers(derivation, q, v))
    parts["first_s"], (M, f, *_) = cpu_time(evaluate)
    emit({"cpu": sum(parts.values()), **parts, "formalism": "kane", "M": M.tolist(), "f": f.tolist(),
          "memory_mb": _memory(), "added_mb": _memory() - before})  # fmt: skip
    if task.get("briefly"):
        return
    kernel, p = derivation.kernel, np.array(list(LINK.values()))
    emit({"us": 1e6 * _per_call(lambda: kernel.raw(q, v, (), p, 0.0)), "us_with_copies": 1e6 * _per_call(evaluate)})
    emit({"operations": derivation.operations["all"]})
    import sympy  # noqa: F401

    emit({"latex_s": cpu_time(derivation.latex)[0], "latex_letters": len(derivation.latex())})


def given_lagrangian(task: dict[str, Any], emit: Emit) -> None:
    """L as SymPy's mechanics makes it: what is measured begins with L, and ends with numbers."""
    import dalembert as da
    from benchmarks.peers.sympy_mechanics import lagrangian

    L, coordinates, parameters = lagrangian(task["machine"], task["count"])
    q, v = state(task["count"])
    _load()

    def derive() -> Any:
        s = da.symbolic.System("given")
        for one in coordinates:
            s.coordinate(one.func.__name__)
        for one, value in zip(parameters, LINK.values(), strict=True):
            s.parameter(one.name, value)
        s.add_kinetic(L)  # T - V is quadratic in the rates too, and its equations are those of T and V
        return da.symbolic.lagrange(s)

    parts: dict[str, float] = {}
    parts["derive_s"], derivation = cpu_time(derive)
    parts["code_s"], evaluate = cpu_time(lambda: numbers(derivation, q, v))
    parts["first_s"], (M, f, *_) = cpu_time(evaluate)
    emit({"cpu": sum(parts.values()), **parts, "formalism": "lagrange", "M": M.tolist(), "f": f.tolist(),
          "memory_mb": _memory()})  # fmt: skip


INDEPENDENT = ("lean.rate", "rear.rate", "steer.rate")


def bicycle() -> Any:
    """The bicycle in the place of the rear contact, yaw, lean, pitch, steer and the turns of its wheels."""
    import casadi as ca

    import dalembert as da

    s = da.symbolic.System("bicycle")
    p = {name: s.parameter(name, value) for name, value in BICYCLE.items() if name != "v"}
    s.set_gravity((0, 0, -p["g"]))
    x, y, yaw, lean, pitch, rear, steer, front = s.coordinates("x y yaw lean pitch rear steer front")
    R = s.rotation("zx", [yaw, lean])
    B = s.rotation("y", [pitch], base=R)
    H = s.rotation("yz", [-p["tilt"], steer], base=B)
    rear_wheel, front_wheel = s.rotation("y", [rear], base=B), s.rotation("y", [front], base=H)
    fork = s.rotation("y", [p["tilt"]], base=H)

    def inertia(xx: Any, yy: Any, zz: Any, xz: Any) -> Any:
        return ca.vertcat(ca.horzcat(xx, 0, xz), ca.horzcat(0, yy, 0), ca.horzcat(xz, 0, zz))

    up = ca.vertcat(0, 0, 1)
    rear_centre = ca.vertcat(x, y, 0) + p["rr"] * R.matrix[:, 2]
    frame_centre = rear_centre + B.matrix @ ca.vertcat(p["xb"], 0, p["zb"] - p["rr"])
    foot = rear_centre + B.matrix @ ca.vertcat(p["w"] + p["tr"], 0, -p["rr"])
    fork_centre = foot + fork.matrix @ ca.vertcat(p["xh"] - p["w"] - p["tr"], 0, p["zh"])
    front_centre = foot + fork.matrix @ ca.vertcat(-p["tr"], 0, p["rf"])
    s.add_body("rear", p["mr"], (p["Irx"], p["Iry"], p["Irx"]), rear_centre, rotation=rear_wheel)
    s.add_body("frame", p["mb"], inertia(p["Ibx"], p["Iby"], p["Ibz"], p["Ibxz"]), frame_centre, rotation=B)
    s.add_body("fork", p["mh"], inertia(p["Ihx"], p["Ihy"], p["Ihz"], p["Ihxz"]), fork_centre, rotation=fork)
    s.add_body("front", p["mf"], (p["Ifx"], p["Ify"], p["Ifx"]), front_centre, rotation=front_wheel)
    axle = H.matrix[:, 1]
    across = up - axle[2] * axle
    down = -p["rf"] * across / ca.sqrt(ca.dot(across, across))
    s.constrain((front_centre + down)[2], "front contact")
    for name, centre, wheel, arm in (
        ("rear", rear_centre, rear_wheel, -p["rr"] * R.matrix[:, 2]),
        ("front", front_centre, front_wheel, down),
    ):
        slip = s.rate(centre) + wheel.matrix @ ca.cross(wheel.omega, wheel.matrix.T @ arm)
        s.constrain(slip[:2], f"{name} rolling")
    return s


def ours_bicycle(task: dict[str, Any], emit: Emit) -> None:
    import casadi as ca
    from scipy.optimize import brentq

    import dalembert as da

    _load()
    p = np.array([value for name, value in BICYCLE.items() if name != "v"])
    parts: dict[str, float] = {}
    parts["derive_s"], d = cpu_time(lambda: da.symbolic.kane(bicycle(), independent=INDEPENDENT))
    parts["code_s"], kernel = cpu_time(lambda: d.kernel)
    # a state that fulfils the rows: the pitch closes the front contact, the other speeds follow
    s = d.system
    height = ca.Function("height", [s.q, s.p], [s.constraints[0].expression])
    q, v = np.array([0.0, 0.0, 0.3, 0.2, 0.0, 0.0, 0.15, 0.0]), np.array([0.1, BICYCLE["v"] / BICYCLE["rr"], 0.05])

    def at(pitch: float) -> Any:
        q[4] = pitch
        return q

    at(brentq(lambda pitch: float(height(at(pitch), p)), -0.5, 0.5, xtol=1e-15))
    parts["first_s"], (M, f, *_) = cpu_time(lambda: kernel(q, v, (), p, 0.0))
    rates = np.array(ca.Function("rates", [s.q, d.v, s.p, s.t], [d.motion.qdot])(q, v, p, 0.0))[:, 0]
    emit(
        {
            "cpu": sum(parts.values()), **parts, "formalism": "kane", "a": np.linalg.solve(M, f).tolist(),
            "memory_mb": _memory(), "q": q[[2, 3, 4, 6]].tolist(), "v": rates[[2, 3, 4, 5, 6, 7]].tolist(),
        }
    )  # fmt: skip
    emit({"us": 1e6 * _per_call(lambda: kernel.raw(q, v, (), p, 0.0)), "operations": d.operations["all"]})
    emit({"latex_s": cpu_time(d.latex)[0]})


def _load() -> None:
    """Everything imported, as the peer has everything imported."""
    import dalembert as da

    s = da.symbolic.System("warm")
    x = s.coordinate("x")
    s.add_kinetic(s.rate(x) ** 2)
    da.symbolic.lagrange(s).kernel(np.zeros(1), np.zeros(1), (), (), 0.0)
    from dalembert.symbolic.formalisms import kane  # noqa: F401


def _per_call(call: Callable[[], Any], seconds: float = 0.2) -> float:
    count = 1
    while (spent := cpu_time(lambda n=count: [call() for _ in range(n)])[0]) < seconds:
        count = max(2 * count, int(count * seconds / max(spent, 1e-6)))
    return min(cpu_time(lambda: [call() for _ in range(count)])[0] for _ in range(5)) / count


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
