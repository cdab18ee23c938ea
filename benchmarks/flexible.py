"""Group ``flexible``: machines of flexible beams beside Exudyn, a spin-up beside its converged run, and how time grows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.beams import Beam
from benchmarks.chain import figure
from benchmarks.harness import Answer, Emit, Row, ask, cpu_time, peer_python, repeats

RHO, GRAVITY = 0.8, 9.81
AGREEMENT = 1e-4  # of the middle of a beam in both engines, of its largest deflection
LIMIT, ROUNDS = 400.0, 2

# Elastic slider-crank, free from a crank rate, no gravity: the links of the literature, three modes each
LINKS = (
    Beam(0.152, 7.854e-5, 2767.0, 1e9, (3, 0, 0, 0)),
    Beam(0.304, 7.854e-5, 2767.0, 5e7, (3, 0, 0, 0)),
)
SLIDER = (1e-4, 1e-8)
CRANK_RATE = 6.0
# A blade that a torque spins up about the vertical axis, under gravity
BLADE = Beam(8.0, 7.299e-5, 2767.0, 10 * 566.36 * 4 * np.pi / 7.299e-5**2, (3, 3, 0, 0))
TORQUE = 15.0
# A chain of hinged beams that falls from the horizontal, and a zigzag of the same beams between two supports. In softer
# beams the engines differ by 1e-3 of the deflection, with the square of it and at any step: Exudyn's marker for the
# rotation of a tip is not exactly its exponential. Ours keeps the energy to 5e-9.
PIECE = Beam(1.0, 6e-4, 1000.0, 2e10, (4, 4, 1, 1), elements=10)
BEAMS = {"slider-crank": LINKS[1], "spin": BLADE, "chain": PIECE}  # whose middle both engines are compared at
CHAIN = 20
SIZES = (5, 10, 20)
MACHINE_CODE = 4000  # steps of a run that is long enough to pay for machine code
READY, READY_NATIVE, LINEAR = 5.0, 8.0, 0.15
# Spin-up of a beam by a prescribed rotation with centrifugal stiffening
SPIN_UP = {"until": 30.0, "sample": 0.1, "finest": 2.5e-4, "error": 1e-4, "allowed": 0.15}
FULL_MODES, FULL_ALLOWED = 50, 5.0

CASES: dict[str, dict[str, Any]] = {
    "slider-crank, planar": {"machine": "slider-crank", "planar": True, "beam": "rod", "step": 1e-3, "steps": 1000},
    "slider-crank, spatial": {"machine": "slider-crank", "planar": False, "beam": "rod", "step": 1e-3, "steps": 1000},
    "spin": {"machine": "spin", "beam": "beam", "step": 5e-3, "steps": 1000},
    "chain": {"machine": "chain", "beam": "beam0", "step": 1e-3, "steps": 200},
}
GOALS = {"slider-crank, planar": 0.05, "slider-crank, spatial": 0.3, "spin": 0.3, "chain": 0.1}


def rows() -> list[Row]:
    """Machines beside Exudyn, then what has an allowed time of its own."""
    result = [_beside_exudyn(name) for name in CASES]
    result.append(_spin_up_row())
    result += _growth_rows()
    full = _lines(ask("benchmarks.flexible", "full_modes", {"modes": FULL_MODES}, limit=LIMIT))
    result.append(
        Row(f"flexible/equations, {FULL_MODES} full modes", "s", full.get("build_s"), {"allowed": FULL_ALLOWED}, 1.0,
            extra={"details": {"ours": full}, "note": full.get("note", "")})
    )  # fmt: skip
    return result


def _beside_exudyn(name: str) -> Row:
    task = CASES[name] | {"sample": CASES[name]["steps"] * CASES[name]["step"] / 10}
    both = []
    for _ in range(ROUNDS):  # in turn, so that a busy machine slows both
        mine = figure(ask("benchmarks.flexible", "ours", task, limit=LIMIT))
        peer = figure(ask("benchmarks.peers.exudyn_flexible", "measure", task, python=peer_python(), limit=LIMIT))
        both.append((mine, peer))
    mine, peer = (min((pair[k] for pair in both), key=lambda one: one.get("us", np.inf)) for k in range(2))
    extra = {key: mine[key] for key in ("build_s", "first_call_s") if key in mine}
    extra["details"] = {"ours": mine, "exudyn": peer}
    places = [np.array(one.pop("middle")) for one in (mine, peer) if "middle" in one]
    theirs = peer.get("us")
    if len(places) == 2:
        extra["error"] = float(np.abs(places[0] - places[1]).max() / np.abs(places[1]).max())
        extra["note"] = f"the middle of a beam differs by {extra['error']:.1e} (goal {AGREEMENT:.0e})"
        if not extra["error"] <= AGREEMENT:
            theirs = None  # another motion: no comparison
            peer |= {"status": "failed", "reason": "the motions differ"}
    return Row(f"flexible/{name}", "us/step", mine.get("us"), {"exudyn": theirs}, GOALS[name], extra=extra)


def _spin_up_row() -> Row:
    found = _lines(ask("benchmarks.flexible", "spin_up", {}, limit=LIMIT))
    note = ""
    if "step" in found:
        note = f"tip within {found['error']:.1e} m of its converged run with a step of {found['step']:g} s"
    return Row("flexible/spin-up, 5 modes, 30 s", "s", found.get("cpu"), {"allowed": SPIN_UP["allowed"]}, 1.0,
               extra={"details": {"ours": found}, "note": note})  # fmt: skip


def _growth_rows() -> list[Row]:
    found = {n: _lines(ask("benchmarks.flexible", "zigzag_times", {"bodies": n}, limit=LIMIT)) for n in SIZES}
    result = []
    for key, allowed, unit in (("ready_s", READY, "equations and first step"), ("native_s", READY_NATIVE, "native code")):
        for n in SIZES:
            label = f"flexible/closed loop of {n} bodies, {unit}"
            result.append(Row(label, "s", found[n].get(key), {"allowed": allowed}, 1.0,
                              extra={"details": {"ours": found[n]}}))  # fmt: skip
    growth = _lines(ask("benchmarks.flexible", "growth", {}, limit=LIMIT))
    times, away = growth.get("us"), None
    if times is not None:
        line = np.polyval(np.polyfit(SIZES, times, 1), SIZES)
        away = float(np.abs(np.array(times) / line - 1).max())
        growth["note"] = f"{', '.join(f'{us:.0f}' for us in times)} us per step of {SIZES} bodies"
    label = "flexible/closed loops, distance of the time per step from a line"
    result.append(Row(label, "-", away, {"allowed": LINEAR}, 1.0,
                      extra={"details": {"ours": growth}, "note": growth.get("note", "")}))  # fmt: skip
    return result


def _lines(answer: Answer) -> dict[str, Any]:
    found = {key: value for line in answer.lines for key, value in line.items()}
    return found | {"status": answer.status, "reason": answer.reason}


def chain_axis(number: int) -> int:
    """Of the hinge before a beam of the chain: y and z in turn."""
    return 1 if number % 2 == 0 else 2


# --- ours ------------------------------------------------------------------------------------------------------------


def slider_crank(planar: bool) -> tuple[Any, Any]:
    import dalembert as da

    m = da.Mechanism("slider-crank", planar=planar, gravity=0)
    first, second = LINKS
    none = (0.0,) if planar else (0.0, 0.0)
    crank = m.add_flexible_body("crank", first.data("crank"), position=(0.0, *none))
    rod = m.add_flexible_body("rod", second.data("rod"), position=(first.length, *none))
    mass, inertia = SLIDER
    slider = m.add_body("slider", mass=mass, inertia=inertia, position=(first.length + second.length, *none))
    if planar:
        m.add_revolute("A", m.ground.at(0, 0), crank.at("root"))
        m.add_revolute("B", crank.at("tip"), rod.at("root"))
        m.add_revolute("C", rod.at("tip"), slider.at(0, 0))
        m.add_prismatic("D", m.ground.at(0, 0), slider.at(0, 0))
    else:
        z, x = (0, 0, 1), (1, 0, 0)
        m.add_revolute("A", m.ground.frame(0, 0, 0, axis=z), crank.frame("root", axis=z))
        m.add_revolute("B", crank.frame("tip", axis=z), rod.frame("root", axis=z))
        m.add_spherical("C", rod.at("tip"), slider.at(0, 0, 0))
        m.add_prismatic("D", m.ground.frame(0, 0, 0, axis=x), slider.frame(0, 0, 0, axis=x))
    eqs = da.equations(m)
    return eqs, da.assemble(eqs, {"A.angle": 0.0}, velocity={"A.angle": CRANK_RATE})


def spin() -> tuple[Any, Any]:
    import dalembert as da

    m = da.Mechanism("spin", gravity=(0, 0, -GRAVITY))
    body = m.add_flexible_body("beam", BLADE.data("beam"))
    z = (0, 0, 1)
    m.add_revolute("hub", m.ground.frame(0, 0, 0, axis=z), body.frame("root", axis=z))
    m.add_actuator("motor", joint="hub", input="torque")
    eqs = da.equations(m)
    return eqs, da.assemble(eqs)


def chain(bodies: int) -> tuple[Any, Any]:
    import dalembert as da

    m, data = da.Mechanism("chain", gravity=(0, 0, -GRAVITY)), PIECE.data("piece")
    axes = np.eye(3)
    previous = m.ground.at(0, 0, 0)
    for k in range(bodies):
        body = m.add_flexible_body(f"beam{k}", data, position=(k * PIECE.length, 0.0, 0.0))
        m.add_revolute(f"hinge{k}", previous, body.at("root"), axis=axes[chain_axis(k)])
        previous = body.at("tip")
    eqs = da.equations(m)
    return eqs, da.assemble(eqs)


def ours(task: dict[str, Any], emit: Emit) -> None:
    """Microseconds per step of the public call, and the modal coordinates of one beam at the samples."""
    import dalembert as da

    begin = time.perf_counter()
    if task["machine"] == "slider-crank":
        eqs, start = slider_crank(task["planar"])
    else:
        eqs, start = spin() if task["machine"] == "spin" else chain(CHAIN)
    once = {"build_s": time.perf_counter() - begin}
    steps, step = task["steps"], task["step"]
    method = da.GeneralizedAlpha(step=step, rho=RHO)
    inputs = {"torque": TORQUE} if task["machine"] == "spin" else None

    def simulate(count: int = steps) -> Any:
        return da.simulate(
            eqs, until=count * step, start=start, inputs=inputs, method=method, every=task["sample"], progress=False
        )

    begin = time.perf_counter()
    simulate()
    once["first_call_s"] = time.perf_counter() - begin
    for _ in range(MACHINE_CODE // steps):
        simulate()
    cpu, run = cpu_time(simulate)
    count = repeats(cpu)
    fastest = min([cpu, *(cpu_time(simulate)[0] for _ in range(count - 1))])
    beam = BEAMS[task["machine"]]
    modes = np.column_stack([run[f"{task['beam']}.mode{k + 1}"] for k in range(sum(beam.modes))])[1:]
    emit({"us": 1e6 * fastest / steps, "method": "GeneralizedAlpha", "step": step, "repeats": count,
          "middle": (modes @ beam.middle.T).tolist(), **once})  # fmt: skip


def zigzag(bodies: int) -> Any:
    """Beams up and down in pairs, hinged about y and z in turn, between a hinge and a ball on the ground."""
    import dalembert as da

    m, data = da.Mechanism("zigzag", gravity=(0, 0, -GRAVITY)), PIECE.data("piece")
    axes = np.eye(3)
    previous, place = m.ground.at(0, 0, 0), np.zeros(3)
    half = 0.5**0.5
    for k in range(bodies):
        rise = half if k // 2 % 2 == 0 else -half
        along, up = np.array([half, 0.0, rise]), np.array([-rise, 0.0, half])
        turned = np.column_stack([along, axes[1], up])
        body = m.add_flexible_body(f"beam{k}", data, position=place, rotation=turned)
        m.add_revolute(f"hinge{k}", previous, body.at("root"), axis=turned[:, chain_axis(k)])
        previous, place = body.at("tip"), place + PIECE.length * along
    m.add_spherical("support", previous, m.ground.at(*place))
    return m


class Zigzag:
    """A closed loop of beams with its equations, after its first step."""

    def __init__(self, bodies: int) -> None:
        import dalembert as da

        self.eqs = da.equations(zigzag(bodies))
        self.start = da.assemble(self.eqs)
        self.simulate(1, 1e-3)

    def simulate(self, steps: int, step: float) -> None:
        import dalembert as da

        until, method = steps * step, da.GeneralizedAlpha(step=step, rho=RHO)
        da.simulate(self.eqs, until, start=self.start, method=method, every=until, progress=False)

    def compile(self) -> None:
        """A run that is long enough; its steps are short, since the loop falls far in so many of them."""
        self.simulate(MACHINE_CODE, 2.5e-4)


def zigzag_times(task: dict[str, Any], emit: Emit) -> None:
    """CPU seconds until the first step, and with machine code; another machine warms up."""
    Zigzag(1).compile()
    ready, machine = cpu_time(lambda: Zigzag(task["bodies"]))
    first = cpu_time(machine.compile)[0]
    again = min(cpu_time(machine.compile)[0] for _ in range(3))
    emit({"ready_s": ready, "native_s": ready + first - again})


def growth(task: dict[str, Any], emit: Emit) -> None:
    """Microseconds per step of all sizes, which take turns: a busy machine slows them alike."""
    steps, rounds = 200, 20
    machines = [Zigzag(bodies) for bodies in SIZES]
    for machine in machines:
        machine.compile()
    times = [[cpu_time(lambda m=m: m.simulate(steps, 1e-3))[0] for m in machines] for _ in range(rounds)]
    emit({"us": (1e6 * np.min(times, axis=0) / steps).tolist()})


def spin_up(task: dict[str, Any], emit: Emit) -> None:
    """CPU seconds with the largest step whose tip stays within the error of a much finer run."""
    import dalembert as da
    from dalembert.structures import Frame, Material, Section, flexible_body

    frame = Frame("beam", planar=True)
    frame.add_points(["root", "tip"], [[0, 0], [10, 0]])
    section = Section(area=1.0, I_y=5e-4, I_z=5e-4, J=1e-3, shear_y=1.0, shear_z=1.0)
    material = Material("material", E=2.8e7, poisson=0.4, density=1.2)
    frame.add_beam("beam", "root", "tip", section=section, material=material, elements=20)
    data = flexible_body(frame, basis="clamped", fixed="root", modes=5, stiffening="centrifugal")
    m = da.Mechanism("spin-up", planar=True, gravity=0)
    body = m.add_flexible_body("beam", data)
    m.add_revolute("hub", m.ground.at(0, 0), body.at("root"))
    wave = 15 / (2 * np.pi)
    m.add_driver("drive", "hub.angle", lambda t: da.where(
        t < 15, 0.4 * (t**2 / 2 + wave**2 * (da.math.cos(t / wave) - 1)), 6 * t - 45))  # fmt: skip
    eqs = da.equations(m)
    start, row = da.assemble(eqs), data.node("tip").translation[1]

    def tip(step: float) -> tuple[float, Any]:
        method = da.GeneralizedAlpha(step=step, rho=RHO)
        cpu, run = cpu_time(
            lambda: da.simulate(
                eqs, SPIN_UP["until"], start=start, method=method, every=SPIN_UP["sample"], progress=False
            )
        )
        return cpu, row @ np.array([run[f"beam.mode{k + 1}"] for k in range(data.modes)])

    exact = tip(SPIN_UP["finest"])[1]
    for parts in (4, 5, 8, 10, 12, 16, 20, 40):
        step = SPIN_UP["sample"] / parts
        error = float(np.abs(tip(step)[1] - exact).max())
        if error <= SPIN_UP["error"]:
            emit({"cpu": min(tip(step)[0] for _ in range(5)), "step": step, "error": error})
            return


def full_modes(task: dict[str, Any], emit: Emit) -> None:
    """CPU seconds of the equations of one body whose modes have no zeros; another body warms up."""
    import dalembert as da

    def build(modes: int) -> Any:
        m = da.Mechanism("block")
        m.add_flexible_body("block", dense_data(modes))
        return da.equations(m)

    build(2)
    seconds, eqs = cpu_time(lambda: build(task["modes"]))
    sizes = ", ".join(f"{name} {eqs.functions[name].n_instructions()}" for name in ("inertia", "forces", "energy"))
    emit({"build_s": seconds, "note": f"operations: {sizes}"})


def dense_data(modes: int) -> Any:
    """Random modes of 200 point masses, made orthonormal with respect to their mass."""
    from benchmarks.beams import body_data

    random = np.random.default_rng(0)
    w, X = random.uniform(0.5, 1, 200) / 200, random.uniform(-1, 1, (200, 3))
    S = random.normal(size=(200, 3, modes))
    lower = np.linalg.cholesky(np.einsum("n,nam,nak->mk", w, S, S))
    S = S @ np.linalg.inv(lower).T
    nodes = {"first": (X[0], S[0], np.zeros((3, modes)))}
    return body_data("block", w, X, S, np.linspace(10.0, 1000.0, modes) ** 2, nodes, "given")
