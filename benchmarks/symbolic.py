"""Group ``symbolic``: equations derived on the expression graph, beside SymPy's mechanics.

A chain of links with hinges about z, y, x (spatial) or z (planar), and the benchmark bicycle, given as bodies and frames,
then as a Lagrangian of SymPy: from the description to M and f as numbers at one state, then one evaluation more, then
LaTeX to read.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Answer, Emit, Row, ask, cpu_time, peer_python
from benchmarks.symbolic_problems import AXES, BICYCLE, LINK, hinges, state

SIZES = {"planar": range(2, 11), "spatial": range(3, 9)}
GOALS = {("spatial", 5): 1 / 20, ("spatial", 7): 1 / 50, ("planar", 10): 1 / 20}
LARGE = {"spatial": 7, "planar": 10}  # sizes whose evaluation and text are measured
EVALUATION, TEXT, GIVEN_LAGRANGIAN = 1 / 20, 1.0, 1 / 10
AGREEMENT = 1e-9  # of M and f of both, relative to their largest entry
METHODS = ("kane", "lagrange")


def rows() -> list[Row]:
    result: list[Row] = []
    for kind, sizes in SIZES.items():
        out_of_time: set[str] = set()
        for count in sizes:
            task = {"machine": kind, "count": count}
            mine = _figures(ask("benchmarks.symbolic", "ours", task))
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
    mine = _figures(ask("benchmarks.symbolic", "ours_bicycle", task))
    peer = _peer({**task, "q": mine.get("q", [0.0] * 4), "v": mine.get("v", [0.0] * 6)})
    result.append(_row("symbolic/bicycle", mine, {"kane": peer}, None))
    return result


def _more(kind: str, count: int, mine: dict[str, Any], peers: dict[str, dict[str, Any]]) -> list[Row]:
    """Evaluation, text and, of the spatial chain, a Lagrangian of SymPy."""
    details = {"details": {"ours": mine, **peers}}
    evaluations = {name: peer.get("us") for name, peer in peers.items()}
    derivations = {f"{name}, derivation": peer.get("derive_s") for name, peer in peers.items()}
    found = [
        Row(f"symbolic/{kind}, n = {count}, evaluation", "us", mine.get("us"), evaluations, EVALUATION, extra=details),
        Row(f"symbolic/{kind}, n = {count}, LaTeX", "s", mine.get("latex_s"), derivations, TEXT, extra=details),
    ]
    if kind == "spatial":
        given = _figures(ask("benchmarks.symbolic", "given_lagrangian", {"machine": kind, "count": count}))
        found.append(_row(f"symbolic/{kind}, n = {count}, given a SymPy Lagrangian", given, peers, GIVEN_LAGRANGIAN))
    return found


def _peer(task: dict[str, Any]) -> dict[str, Any]:
    return _figures(ask("benchmarks.peers.sympy_mechanics", "measure", task, python=peer_python()))


def _figures(answer: Answer) -> dict[str, Any]:
    """All lines of a process in one, with its status; a later line has the better figure."""
    found: dict[str, Any] = {}
    for line in answer.lines:
        found |= line
    status = answer.status if "cpu" not in found else "ok"
    return {**found, "status": status, "reason": "" if status == "ok" else answer.reason or "no figure"}


def _row(name: str, mine: dict[str, Any], peers: dict[str, dict[str, Any]], goal: float | None) -> Row:
    error = max((_gap(mine, peer) for peer in peers.values() if "M" in peer and "M" in mine), default=None)
    memory = ", ".join(
        f"{who} {one['memory_mb']:.0f} MB" for who, one in {"ours": mine, **peers}.items() if "memory_mb" in one
    )
    note = f"memory of the process: {memory}; by {mine.get('formalism', '?')}"
    if error is not None and error > AGREEMENT:
        note += f"; M and f DISAGREE by {error:.1e}"
    short = {who: {k: v for k, v in one.items() if k not in ("M", "f")} for who, one in {"ours": mine, **peers}.items()}
    extra: dict[str, Any] = {"details": short, "note": note}
    if error is not None:
        extra["error"] = error
    return Row(name, "s", mine.get("cpu"), {who: peer.get("cpu") for who, peer in peers.items()}, goal, extra=extra)


def _gap(one: dict[str, Any], two: dict[str, Any]) -> float:
    """Largest difference of M and f, relative to the largest entry."""
    worst = 0.0
    for key in ("M", "f"):
        a, b = np.array(one[key]), np.array(two[key])
        worst = max(worst, float(np.abs(a - b).max() / np.abs(b).max()))
    return worst


# --- ours ------------------------------------------------------------------------------------------------------------


def chain(kind: str, count: int) -> Any:
    """The chain as bodies and frames."""
    import dalembert as da

    s = da.symbolic.System(kind)
    m, length, c, Ix, Iy, Iz, g = (s.parameter(name, value) for name, value in LINK.items())
    s.gravity = (0, -g, 0)
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
    import dalembert as da

    q, v = state(task["count"])
    _load()
    methods = {"kane": da.symbolic.kane, "lagrange": da.symbolic.lagrange, "virtual work": da.symbolic.virtual_work}
    best: dict[str, Any] = {}
    for name, derive in methods.items():
        for _ in range(3):
            parts: dict[str, float] = {}
            parts["derive_s"], derivation = cpu_time(lambda d=derive: d(chain(task["machine"], task["count"])))
            parts["code_s"], evaluate = cpu_time(lambda d=derivation: numbers(d, q, v))
            parts["first_s"], (M, f, *_) = cpu_time(evaluate)
            cpu = sum(parts.values())
            if cpu < best.get("cpu", np.inf):
                best = {"cpu": cpu, **parts, "formalism": name, "M": M.tolist(), "f": f.tolist(), "memory_mb": _memory()}
                kept = derivation, evaluate
    emit(best)
    derivation, evaluate = kept
    emit({"us": 1e6 * _per_call(evaluate), "operations": derivation.operations["all"]})
    emit({"latex_s": cpu_time(derivation.latex)[0], "latex_letters": len(derivation.latex()), "memory_mb": _memory()})


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


def ours_bicycle(task: dict[str, Any], emit: Emit) -> None:
    raise NotImplementedError


def _load() -> None:
    """Everything imported and LLVM ready, as the peer has everything imported."""
    import sympy  # noqa: F401

    import dalembert as da

    s = da.symbolic.System("warm")
    x = s.coordinate("x")
    s.add_kinetic(s.rate(x) ** 2)
    for derive in (da.symbolic.lagrange, da.symbolic.virtual_work, da.symbolic.kane):
        try:
            numbers(derive(s), np.zeros(1), np.zeros(1))()
        except da.errors.ModelError:
            continue


def _per_call(call: Callable[[], Any], seconds: float = 0.2) -> float:
    count = 1
    while (spent := cpu_time(lambda n=count: [call() for _ in range(n)])[0]) < seconds:
        count = max(2 * count, int(count * seconds / max(spent, 1e-6)))
    return min(cpu_time(lambda: [call() for _ in range(count)])[0] for _ in range(5)) / count


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
