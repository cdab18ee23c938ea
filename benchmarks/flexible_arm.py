"""Group ``flexible-arm``: an arm with bending links under joint PID beside Exudyn, and what its equations cost."""

from __future__ import annotations

import time
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.beams import Beam
from benchmarks.four_bar import best
from benchmarks.harness import Answer, Emit, Method, Row, ask, cpu_time, peer_python, search
from benchmarks.trees import per_call

# The arm TUDOR: rods of 15 x 4 mm of spring steel, round ones of the same area and bending stiffness, the motor of the
# elbow at the tip of the first, 400 g at the tip of the second, three modes each in the vertical plane
AREA, BENDING = 15e-3 * 4e-3, 200e9 * 15e-3 * 4e-3**3 / 12
ROD: dict[str, Any] = {"area": AREA, "density": 7800.0, "modulus": BENDING / (AREA**2 / (4 * np.pi)), "elements": 40}
LINKS = (
    Beam(length=0.440, modes=(3, 0, 0, 0), end_mass=0.5885, **ROD),
    Beam(length=0.378, modes=(3, 0, 0, 0), **ROD),
)
PAYLOAD, GRAVITY = 0.4, 9.81
ROTORS = {"shoulder": (9.41e-6, 320.0), "elbow": (0.82e-6, 246.0)}  # inertia [kg m²] and gear ratio of the motors
JOINTS = tuple(ROTORS)
GAINS = {"shoulder": (4000.0, 8000.0, 200.0), "elbow": (400.0, 800.0, 20.0)}  # k_p, k_i, k_d
SAMPLE, FILTER = 1e-3, 5e-3  # of the loops and of their derivative [s]
MOTION, DURATION, UNTIL, WATCHED = (0.6, -0.9), 1.0, 2.0, 0.01  # targets [rad]; duration, end and samples [s]
RHO = 0.8
ERROR = 1e-5  # of the tip [m]
FINEST = 16  # steps per sample of the converged run
# Exudyn's weight turns the body as if it were not deformed, so that motions with weight differ by more than the error:
# each engine is judged by its own converged run, and both by each other without weight.
AGREEMENT = 1e-5  # of the tips without weight [m]
SHARE = 0.05  # of Exudyn's time
LIMIT = 300.0
STEPS, ROUNDS = 4000, 12
CALLS = 1_000_000  # announced to our kernels: their best code is made
# Arms of hinged beams: number of modes in bending along y and z, stretching and twist of each link; operations of M and
# bias of such arms written out without a recursion
ARMS = {2: ((3, 0, 0, 0), 900), 3: ((2, 1, 0, 0), 4100), 4: ((2, 1, 0, 1), 11_600)}
MAKING = 3.0  # CPU seconds from the description to native code of both


def rows() -> list[Row]:
    return [beside_exudyn(), beside_absolute(), *sizes()]


def beside_exudyn() -> Row:
    start = {str(g): line_of(ask("benchmarks.flexible_arm", "rest", {"gravity": g})) for g in (0.0, GRAVITY)}
    task = {"start": start, "error": ERROR}
    own = ask("benchmarks.flexible_arm", "ours", task, limit=LIMIT)
    peer = ask("benchmarks.peers.exudyn_arm", "measure", task, python=peer_python(), limit=LIMIT)
    mine, theirs = best(own, ERROR), best(peer, ERROR)
    tips = [np.array(line["light"]) for answer in (own, peer) for line in answer.lines if "light" in line]
    extra: dict[str, Any] = {"error": mine.get("error"), "details": {"ours": mine, "exudyn": theirs}}
    figure = theirs.get("cpu")
    if len(tips) == 2:
        apart = float(np.abs(tips[0] - tips[1]).max())
        extra["note"] = f"without weight the tips of both engines are {apart:.1e} m apart (goal {AGREEMENT:.0e})"
        if not apart <= AGREEMENT:
            figure = None  # another machine: no comparison
            theirs |= {"status": "failed", "reason": "the motions differ"}
    return Row("flexible-arm/tudor, joint PID, 2 s to 1e-5 m", "s", mine.get("cpu"), {"exudyn": figure}, SHARE,
               extra=extra)  # fmt: skip


def beside_absolute() -> Row:
    found = line_of(ask("benchmarks.flexible_arm", "steps", {}, limit=LIMIT))
    times = {key: found.get(key) for key in ("joint", "closed", "absolute")}
    row = Row("flexible-arm/tudor, implicit step in joint coordinates", "us/step", times["joint"],
              {"absolute": times["absolute"]}, 1.0, extra={"details": {"ours": found}})  # fmt: skip
    if times["closed"]:
        row.extra["note"] = f"with the closed form {times['closed']:.2f} us"
    return row


def sizes() -> list[Row]:
    result = []
    for links, (_, seen) in ARMS.items():
        found = line_of(ask("benchmarks.flexible_arm", "evaluate", {"links": links}, limit=LIMIT))
        extra = {"details": {"ours": found}, "note": found.get("note", ""), "build_s": found.get("build_s")}
        label = f"flexible-arm/M and bias, {links} links"
        result.append(Row(label, "operations", found.get("operations"), {"written out": float(seen)}, 1.0, extra=extra))
        result.append(Row(f"{label}, to machine code", "s", found.get("build_s"), {"allowed": MAKING}, 1.0,
                          extra={"details": {"ours": found}}))  # fmt: skip
    return result


def line_of(answer: Answer) -> dict[str, Any]:
    found = {key: value for line in answer.lines for key, value in line.items()}
    return found | {"status": answer.status, "reason": answer.reason}


# --- the task: angles of the joints by time, and the weight that the loops know --------------------------------------


def angles(time: Any) -> Any:
    """Set points of both joints (2, ...)."""
    x = np.clip(np.asarray(time) / DURATION, 0.0, 1.0)
    return np.multiply.outer(MOTION, x**5 * (126 - 420 * x + 540 * x**2 - 315 * x**3 + 70 * x**4))


def levers(gravity: float) -> tuple[float, float]:
    """Weight times distance of the arm beyond the shoulder, without its second link's length, and beyond the elbow."""
    first, second = (beam.masses @ beam.places[:, 0] for beam in LINKS)
    beyond = LINKS[1].masses.sum() + PAYLOAD
    return gravity * (first + beyond * LINKS[0].length), gravity * (second + PAYLOAD * LINKS[1].length)


# --- ours ------------------------------------------------------------------------------------------------------------


@cache
def tudor(gravity: float, coordinates: str = "joint", *, form: str | None = None, rotors: bool = True) -> Any:
    import dalembert as da

    m = da.Mechanism("tudor", planar=True, gravity=(0.0, -gravity))
    first, second = (m.add_flexible_body(f"link{k + 1}", beam.data("rod")) for k, beam in enumerate(LINKS))
    load = m.add_body("load", mass=PAYLOAD, inertia=PAYLOAD * LINKS[1].offset ** 2 / 2)  # four points, as a section
    m.add_revolute("shoulder", m.ground.at(0, 0), first.at("root"))
    m.add_revolute("elbow", first.at("tip"), second.at("root"))
    m.add_fixed("grip", second.at("tip"), load.at(0, 0))
    for joint in JOINTS:
        m.add_actuator(f"{joint}_motor", joint=joint, input=f"{joint}_torque")
        if rotors:
            inertia, ratio = ROTORS[joint]
            m.add_rotor(f"{joint}_rotor", joint, inertia=inertia, ratio=ratio)
    m.add_sensor("tip", da.position(second.at("tip")))
    return da.equations(m, coordinates=coordinates, **({"form": form} if form else {}))


def rest(task: dict[str, Any], emit: Emit) -> None:
    """Elastic coordinates of the straight arm that is held at rest, and the pose of its second link."""
    import dalembert as da

    eqs = tudor(task["gravity"])
    names = [f"{joint}.angle" for joint in JOINTS]
    state = da.equilibrium(eqs, hold=dict.fromkeys(names, 0.0), efforts=names)
    pose = [state[f"link2.{name}"] for name in ("x", "y", "angle")]
    emit({"modes": [state[name] for name in eqs.elastic], "pose": pose})


class Arm:
    """The arm under its loops, from rest."""

    def __init__(self, gravity: float, start: dict[str, Any]) -> None:
        import dalembert as da

        self.eqs = tudor(gravity)
        loops = [
            da.control.pid(*GAINS[joint], reads=f"{joint}.angle", drives=f"{joint}_torque", filter=FILTER, dt=SAMPLE)
            for joint in JOINTS
        ]
        self.law = da.control.joint_pid(self.eqs, loops)
        times = np.arange(0.0, UNTIL + SAMPLE / 2, SAMPLE)
        names = [f"{joint}.angle" for joint in JOINTS]
        self.references = da.Record.from_channels(times, dict(zip(names, angles(times), strict=True)))
        modes = dict(zip(self.eqs.elastic, start["modes"], strict=True))
        self.start = da.assemble(self.eqs, dict.fromkeys(names, 0.0) | modes)

    def run(self, method: Any) -> tuple[float, Any]:
        """CPU seconds of the public call, and places of the tip (samples, 2)."""
        import dalembert as da

        cpu, run = cpu_time(lambda: da.simulate(
            self.eqs, UNTIL, start=self.start, controller=self.law, references=self.references, method=method,
            every=WATCHED, progress=False,
        ))  # fmt: skip
        return cpu, np.column_stack([run["tip.x"], run["tip.y"]])


def ours(task: dict[str, Any], emit: Emit) -> None:
    """Seconds of runs by error, step or tolerance varied; the tip of a fine run without weight."""
    import warnings

    import dalembert as da

    warnings.simplefilter("ignore")  # of the load of rods without geometric stiffening, which both engines leave out
    light = Arm(0.0, task["start"]["0.0"])
    emit({"light": light.run(da.GeneralizedAlpha(step=SAMPLE / FINEST, rho=RHO))[1].tolist()})
    arm = Arm(GRAVITY, task["start"][str(GRAVITY)])
    exact = arm.run(da.GeneralizedAlpha(step=SAMPLE / FINEST, rho=RHO))[1]

    def measure(method: Any) -> tuple[float, float]:
        cpu, tip = arm.run(method)
        return cpu, float(np.abs(tip - exact).max())

    def step(fineness: int) -> float:
        return SAMPLE / fineness

    methods = [
        Method("GeneralizedAlpha", lambda k: measure(da.GeneralizedAlpha(step=step(k), rho=RHO)),
               lambda k: {"step": step(k)}, 1, 2),
        Method("DormandPrince 8", lambda k: measure(da.DormandPrince(step=step(k))), lambda k: {"step": step(k)}, 1, 7),
    ]  # fmt: skip
    for method in methods:
        method.run(1)  # its native code
    search(methods, [task["error"]], emit)


def steps(task: dict[str, Any], emit: Emit) -> None:
    """Microseconds of a step under constant torques; joint, closed and absolute form in turn, best of some rounds."""
    import warnings

    import dalembert as da

    warnings.simplefilter("ignore")
    # without rotors, which are a coordinate and a row each in absolute coordinates
    machines = {"joint": tudor(GRAVITY, rotors=False), "closed": tudor(GRAVITY, form="closed", rotors=False),
                "absolute": tudor(GRAVITY, "absolute", rotors=False)}  # fmt: skip
    inner, outer = levers(GRAVITY)
    torques = {"shoulder_torque": inner + outer, "elbow_torque": outer}
    straight = {f"{joint}.angle": 0.0 for joint in JOINTS}
    starts = {name: da.assemble(eqs, straight, elastic="static") for name, eqs in machines.items()}
    step = 1e-4

    def run(name: str, count: int) -> float:
        return cpu_time(lambda: da.simulate(
            machines[name], count * step, start=starts[name], inputs=torques, every=count * step,
            method=da.GeneralizedAlpha(step=step, rho=RHO), progress=False,
        ))[0]  # fmt: skip

    for name in machines:
        run(name, STEPS)
    long, short = STEPS, STEPS // 4
    times = [[[run(name, count) for count in (long, short)] for name in machines] for _ in range(ROUNDS)]
    fastest = np.min(times, axis=0)
    emit(dict(zip(machines, (1e6 * (fastest[:, 0] - fastest[:, 1]) / (long - short)).tolist(), strict=True)))


def evaluate(task: dict[str, Any], emit: Emit) -> None:
    """Operations and time of M and bias, and CPU seconds from the description to their native code."""
    import dalembert as da
    from dalembert.expressions.machine_code.native import llvm

    llvm()  # is loaded once
    links = task["links"]
    modes = ARMS[links][0]
    data = Beam(length=0.4, modes=modes, **ROD).data("rod")

    def make() -> tuple[Any, list[Any]]:
        eqs = hinged(links, data)
        return eqs, [da.tree.kernel(eqs, name, calls=CALLS) for name in ("mass_matrix", "inverse_dynamics")]

    begin = time.process_time()
    eqs, (mass, bias) = make()
    built = time.process_time() - begin
    rng = np.random.default_rng(0)
    q, v = 0.1 * rng.normal(size=eqs.nq), rng.normal(size=eqs.nv)
    us = [1e6 * per_call(partial(mass.raw, q, eqs.p, 0.0)),
          1e6 * per_call(partial(bias.raw, q, v, np.zeros(eqs.nv), eqs.p, 0.0))]  # fmt: skip
    counts = {name: [eqs.functions["inertia"].n_instructions(), eqs.functions["forces"].n_instructions()]
              for name, eqs in (("recursion", eqs), ("closed form", hinged(links, data, form="closed")))}  # fmt: skip
    words = "; ".join(f"{name} {M} + {f} operations" for name, (M, f) in counts.items())
    emit({"operations": float(sum(counts["recursion"])), "build_s": built, "us": us,
          "note": f"{eqs.nv} speeds; {words}; a call {us[0]:.2f} + {us[1]:.2f} us"})  # fmt: skip


def hinged(links: int, data: Any, form: str = "recursive") -> Any:
    """An arm of equal beams: two links in the vertical plane, more in space, hinged about y and z in turn."""
    import dalembert as da

    planar = links == 2
    m = da.Mechanism("arm", planar=planar)
    zero = (0.0,) * (2 if planar else 3)
    carrier, axes = m.ground.at(*zero), np.eye(3)
    for k in range(links):
        body = m.add_flexible_body(f"link{k}", data)
        options = {} if planar else {"axis": axes[1 + k % 2], "axis_b": axes[1 + k % 2]}
        m.add_revolute(f"joint{k}", carrier, body.at("root"), **options)
        carrier = body.at("tip")
    return da.equations(m, coordinates="joint", form=form)
