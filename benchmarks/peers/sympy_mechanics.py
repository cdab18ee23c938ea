"""SymPy's mechanics: Kane's and Lagrange's method from bodies and frames, then `lambdify` with its own CSE."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.physics import mechanics as me

from benchmarks.harness import Emit, cpu_time
from benchmarks.symbolic_problems import BICYCLE, LINK, hinges, state


def measure(task: dict[str, Any], emit: Emit) -> None:
    """Derivation of M and f, code, first evaluation; then the time of one evaluation."""
    parts: dict[str, float] = {}
    parts["derive_s"], (M, f, arguments) = cpu_time(lambda: derive(task))
    parts["code_s"], evaluate = cpu_time(lambda: sp.lambdify(arguments, [M, f], cse=True))
    numbers = values(task)
    parts["first_s"], found = cpu_time(lambda: evaluate(*numbers))
    emit({"cpu": sum(parts.values()), **parts, **_numbers(task, found), "memory_mb": _memory()})
    if task.get("briefly"):
        return
    count = 1
    while (spent := cpu_time(lambda n=count: [evaluate(*numbers) for _ in range(n)])[0]) < 0.2:
        count = max(2 * count, int(count * 0.2 / max(spent, 1e-6)))
    fastest = min(cpu_time(lambda: [evaluate(*numbers) for _ in range(count)])[0] for _ in range(5))
    emit({"us": 1e6 * fastest / count})


def derive(task: dict[str, Any]) -> tuple[Any, Any, Sequence[Any]]:
    if task["machine"] == "bicycle":
        return bicycle()
    return {"kane": kane, "lagrange": lagrange}[task["method"]](task["machine"], task["count"])


def values(task: dict[str, Any]) -> list[Any]:
    if task["machine"] == "bicycle":
        return [np.array(task["q"]), np.array(task["v"]), [BICYCLE[name] for name in BICYCLE_SYMBOLS]]
    q, v = state(task["count"])
    return [q, v, list(LINK.values())]


def _numbers(task: dict[str, Any], found: Any) -> dict[str, Any]:
    M, f = found
    if task["machine"] == "bicycle":  # the rows of the constraints are among them: accelerations are compared
        return {"a": np.linalg.solve(np.asarray(M), np.asarray(f)).reshape(-1)[:3].tolist()}
    return {"M": np.asarray(M, dtype=float).tolist(), "f": np.asarray(f, dtype=float).reshape(-1).tolist()}


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# --- chains ----------------------------------------------------------------------------------------------------------


def chain(kind: str, q: Any, rates: Any, p: Any) -> tuple[Any, list[Any], list[Any]]:
    """Inertial frame, bodies and weights; `rates` are the speeds of the hinges, as symbols or derivatives."""
    m, length, c, Ix, Iy, Iz, g = p
    N = me.ReferenceFrame("N")
    point, frame = me.Point("O"), N
    point.set_vel(N, 0)
    bodies, loads = [], []
    for k, axis in enumerate(hinges(kind, len(q))):
        own = me.ReferenceFrame(f"B{k}")
        base = N if kind == "planar" else frame
        direction = (base.x, base.y, base.z)[axis]
        own.orient_axis(base, direction, q[k])
        own.set_ang_vel(base, rates[k] * direction)
        centre = point.locatenew(f"C{k}", c * own.x)
        centre.v2pt_theory(point, N, own)
        bodies.append(me.RigidBody(f"link{k}", centre, own, m, (me.inertia(own, Ix, Iy, Iz), centre)))
        loads.append((centre, -m * g * N.y))
        end = point.locatenew(f"P{k}", length * own.x)
        end.v2pt_theory(point, N, own)
        point, frame = end, own
    return N, bodies, loads


def kane(kind: str, count: int) -> tuple[Any, Any, Sequence[Any]]:
    q, u = me.dynamicsymbols(f"q:{count}"), me.dynamicsymbols(f"u:{count}")
    p = sp.symbols(list(LINK))
    N, bodies, loads = chain(kind, q, u, p)
    method = me.KanesMethod(N, q, u, kd_eqs=[ui - qi.diff() for qi, ui in zip(q, u, strict=True)])
    method.kanes_equations(bodies, loads)
    return method.mass_matrix, method.forcing, (q, u, p)


def lagrangian(kind: str, count: int) -> tuple[Any, Any, Any]:
    """T - V in the coordinates and their derivatives, with coordinates and parameters."""
    q = me.dynamicsymbols(f"q:{count}")
    p = sp.symbols(list(LINK))
    N, bodies, _ = chain(kind, q, [qi.diff() for qi in q], p)
    height = sp.S.Zero
    for body in bodies:
        # the weight of each body, from the vector to its centre
        place = sum((part for part in _path(body, bodies, p)), me.Vector(0))
        height += p[0] * p[6] * place.dot(N.y)
    return me.kinetic_energy(N, *bodies) - height, q, p


def _path(body: Any, bodies: list[Any], p: Any) -> list[Any]:
    k = bodies.index(body)
    return [p[1] * other.frame.x for other in bodies[:k]] + [p[2] * body.frame.x]


def lagrange(kind: str, count: int) -> tuple[Any, Any, Sequence[Any]]:
    L, q, p = lagrangian(kind, count)
    method = me.LagrangesMethod(L, q)
    method.form_lagranges_equations()
    rates = [qi.diff() for qi in q]
    u = me.dynamicsymbols(f"u:{count}")
    swap = dict(zip(rates, u, strict=True))
    return method.mass_matrix.xreplace(swap), method.forcing.xreplace(swap), (q, u, p)


# --- bicycle ---------------------------------------------------------------------------------------------------------

BICYCLE_SYMBOLS = [name for name in BICYCLE if name != "v"]


def bicycle() -> tuple[Any, Any, Sequence[Any]]:
    """Yaw, lean, pitch, steer; wheels touch and roll without slip. Speeds: yaw, lean, pitch, rear, steer, front."""
    q = me.dynamicsymbols("yaw lean pitch steer")
    u = me.dynamicsymbols("u_yaw u_lean u_pitch u_rear u_steer u_front")
    p = dict(zip(BICYCLE_SYMBOLS, sp.symbols(BICYCLE_SYMBOLS), strict=True))
    N = me.ReferenceFrame("N")
    Y, R, B = me.ReferenceFrame("Y"), me.ReferenceFrame("R"), me.ReferenceFrame("B")
    head, H, WR, WF = (me.ReferenceFrame(name) for name in ("head", "H", "WR", "WF"))
    Y.orient_axis(N, N.z, q[0])
    R.orient_axis(Y, Y.x, q[1])
    B.orient_axis(R, R.y, q[2])
    head.orient_axis(B, B.y, -p["tilt"])
    H.orient_axis(head, head.z, q[3])
    B.set_ang_vel(N, u[0] * N.z + u[1] * Y.x + u[2] * R.y)
    H.set_ang_vel(B, u[4] * head.z)
    WR.set_ang_vel(B, u[3] * B.y)
    WF.set_ang_vel(H, u[5] * H.y)
    for wheel, carrier in ((WR, B), (WF, H)):
        wheel.orient_axis(carrier, carrier.y, 0)
    WR.set_ang_vel(B, u[3] * B.y)
    WF.set_ang_vel(H, u[5] * H.y)
    # rear contact, wheel centre, centres of mass; the foot of the steering axis carries the fork
    touch = me.Point("touch")
    touch.set_vel(N, 0)
    rear = touch.locatenew("rear", p["rr"] * R.z)
    rear.set_vel(N, WR.ang_vel_in(N).cross(p["rr"] * R.z))
    frame_centre = rear.locatenew("frame", p["xb"] * B.x + (p["zb"] - p["rr"]) * B.z)
    frame_centre.v2pt_theory(rear, N, B)
    foot = rear.locatenew("foot", (p["w"] + p["tr"]) * B.x - p["rr"] * B.z)
    foot.v2pt_theory(rear, N, B)
    # in the axes of the fork: turned back by the tilt
    s, c = sp.sin(p["tilt"]), sp.cos(p["tilt"])

    def in_fork(x: Any, z: Any) -> Any:
        return (c * x + s * z) * H.x + (-s * x + c * z) * H.z

    fork_centre = foot.locatenew("fork", in_fork(p["xh"] - p["w"] - p["tr"], p["zh"]))
    fork_centre.v2pt_theory(foot, N, H)
    front = foot.locatenew("front", in_fork(-p["tr"], p["rf"]))
    front.v2pt_theory(foot, N, H)
    down = -(N.z - N.z.dot(H.y) * H.y).normalize()
    lowest = front.locatenew("lowest", p["rf"] * down)
    slip = front.vel(N) + WF.ang_vel_in(N).cross(p["rf"] * down)
    height = lowest.pos_from(touch).dot(N.z)

    def tensor(frame: Any, xx: Any, yy: Any, zz: Any, xz: Any) -> Any:
        return me.inertia(frame, xx, yy, zz, 0, 0, xz)

    fork_axes = me.ReferenceFrame("fork_axes")
    fork_axes.orient_axis(H, H.y, p["tilt"])
    fork_axes.set_ang_vel(H, 0)
    bodies = [
        me.RigidBody("rear", rear, WR, p["mr"], (tensor(B, p["Irx"], p["Iry"], p["Irx"], 0), rear)),
        me.RigidBody("frame", frame_centre, B, p["mb"],
                     (tensor(B, p["Ibx"], p["Iby"], p["Ibz"], p["Ibxz"]), frame_centre)),
        me.RigidBody("fork", fork_centre, H, p["mh"],
                     (tensor(fork_axes, p["Ihx"], p["Ihy"], p["Ihz"], p["Ihxz"]), fork_centre)),
        me.RigidBody("front", front, WF, p["mf"], (tensor(H, p["Ifx"], p["Ify"], p["Ifx"], 0), front)),
    ]  # fmt: skip
    loads = [(body.masscenter, -body.mass * p["g"] * N.z) for body in bodies]
    method = me.KanesMethod(
        N,
        q_ind=[q[0], q[1], q[3]],
        q_dependent=[q[2]],
        configuration_constraints=[height],
        u_ind=[u[1], u[3], u[4]],
        u_dependent=[u[0], u[2], u[5]],
        velocity_constraints=[slip.dot(Y.x), slip.dot(Y.y), slip.dot(N.z)],
        kd_eqs=[q[0].diff() - u[0], q[1].diff() - u[1], q[2].diff() - u[2], q[3].diff() - u[4]],
        constraint_solver="CRAMER",  # elimination divides by zero in upright riding, and loses digits near it
    )
    method.kanes_equations(bodies, loads)
    return method.mass_matrix, method.forcing, (list(q), list(u), list(p.values()))
