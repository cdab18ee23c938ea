"""Group ``observer``: a dynamic extended Kalman filter of a four-bar at 1 kHz, and the field's four-bar benchmark.

The benchmark (observers on a four-bar): ground points (0, 0), (10, 0); bars 2, 8, 5 m with 2, 8, 5 kg; crank at π/3 at
rest; samples every 5 ms for 10 s; the filter's model has 1 m/s² too much gravity and a start angle that is π/16 too
large; encoder 1°, gyroscope 9.839439e-4 rad/s, acceleration 5.637583e-2 m/s². What the wrong gravity does to the crank
is an unknown torque, estimated as a random walk; its true value is known by virtual work.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from benchmarks.harness import Emit, Row, ask, cpu_time

DURATION, FAST, SLOW = 10.0, 1e-3, 5e-3
NOISE = {
    "encoder": math.radians(1.0), "gyroscope": 9.839439e-4, "acceleration.x": 5.637583e-2,
    "acceleration.y": 5.637583e-2,
}  # fmt: skip
WALK = 10.0  # of the torque [N m/√s]
TIMES_REAL = 180.0
REPEATS = 5
SETTLING = 1.0  # seconds that errors leave out


def rows() -> list[Row]:
    """CPU seconds for 10 s at 1 kHz beside real time."""
    answer = ask("benchmarks.four_bar_filter", "ours", {})
    lines = {key: value for line in answer.lines for key, value in line.items()}
    lines["details"] = {"ours": {"status": answer.status, "reason": answer.reason}}
    cpu = lines.pop("cpu", None)
    if cpu is not None:
        lines["note"] = f"{DURATION / cpu:.0f} times as fast as time passes" + describe(lines.get("benchmark", {}))
    return [Row("observer/four-bar EKF 1 kHz", "s", cpu, {"real time": DURATION}, 1.0 / TIMES_REAL, extra=lines)]


def describe(benchmark: dict[str, Any]) -> str:
    """The errors of the field's benchmark in a line."""
    parts = [
        f"{label}: {found['angle rms [deg]']:.3f}°, {found['torque error rms [N m]']:.2f} N m"
        for label, found in benchmark.items()
        if isinstance(found, dict)
    ]
    return "".join(f"; {part}" for part in parts)


def four_bar(gravity: float = 9.81) -> Any:
    """Equations of the four-bar with a torque on its crank."""
    import dalembert as da

    m = da.Mechanism("four-bar", planar=True, gravity=(0, -gravity))
    crank = m.add_body("crank", mass=2.0, inertia=2.0 * 2.0**2 / 12)
    coupler = m.add_body("coupler", mass=8.0, inertia=8.0 * 8.0**2 / 12)
    rocker = m.add_body("rocker", mass=5.0, inertia=5.0 * 5.0**2 / 12)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-1, 0))
    m.add_revolute("B", crank.at(1, 0), coupler.at(-4, 0))
    m.add_revolute("C", coupler.at(4, 0), rocker.at(2.5, 0))
    m.add_revolute("D", m.ground.at(10, 0), rocker.at(-2.5, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    m.add_sensor("gyroscope", da.gyroscope(coupler))
    m.add_sensor("acceleration", da.acceleration(coupler.at(0, 0)))
    return da.equations(m)


def start(eqs: Any, angle: float = math.pi / 3) -> Any:
    import dalembert as da

    return da.assemble(eqs, {"A.angle": angle}, guess={"rocker.angle": 2.0})


def noisy(run: Any, seed: int = 0) -> Any:
    """The sensors of a run with their noise."""
    import dalembert as da

    random = np.random.default_rng(seed)
    data = [run[name] + size * random.normal(size=len(run)) for name, size in NOISE.items()]
    return da.Record(run.time, np.array(data).T, list(NOISE), [run.units[name] for name in NOISE])


def observer(kind: Any, outputs: list[str], dt: float, **options: Any) -> Any:
    """A filter whose model has the wrong gravity and the wrong start."""
    model = four_bar(10.81)
    return kind(
        model, outputs=outputs, unknown="torque", coordinates="A.angle", at=start(model, math.pi / 3 + math.pi / 16),
        Q={"A.angle": 1e-12, "A.rate": 1e-8, "torque": WALK**2 * dt}, R={name: NOISE[name] ** 2 for name in outputs},
        P0={"A.angle": (math.pi / 16) ** 2, "A.rate": 1e-2, "torque": 100.0}, dt=dt, **options,
    )  # fmt: skip


def ideal_torque(eqs: Any, run: Any) -> Any:
    """Torque on the crank that makes up for 1 m/s² of gravity: Σ mᵢ ∂yᵢ/∂θ by virtual work."""
    from dalembert.estimate import process
    from dalembert.expressions import Kernel

    model = process(eqs, coordinates="A.angle", at=start(eqs))
    x = np.array([run[name] for name in model.carried.names]).T
    move, step = Kernel(model.functions["retract"]), 1e-5
    sides = [move.many(x, [sign * step, 0.0], model.p, 0.0)[0] for sign in (1, -1)]
    slope = (sides[0] - sides[1]) / (2 * step)
    return sum(m * slope[:, model.carried.index[f"{b}.y"]] for b, m in (("crank", 2), ("coupler", 8), ("rocker", 5)))


def rms(error: Any, dt: float) -> float:
    return float(np.sqrt(np.mean(np.square(error[round(SETTLING / dt) :]))))


def ours(task: dict[str, Any], emit: Emit) -> None:
    """CPU time of the public call at 1 kHz; errors of the benchmark at 5 ms."""
    import dalembert as da

    began = time.perf_counter()
    eqs = four_bar()
    fast = da.simulate(eqs, until=DURATION, start=start(eqs), every=FAST)
    model = four_bar()
    ekf = da.estimate.ExtendedKalman(
        model, outputs=["encoder", "gyroscope"], inputs=[], coordinates="A.angle", at=start(model),
        Q={"A.angle": 1e-10, "A.rate": 1e-6}, R={name: NOISE[name] ** 2 for name in ("encoder", "gyroscope")},
        P0=1e-2, dt=FAST,
    )  # fmt: skip
    emit({"build_s": time.perf_counter() - began})
    record = noisy(fast)
    began = time.perf_counter()
    estimate = ekf.run(record)
    emit({"first_call_s": time.perf_counter() - began})
    emit({"cpu": min(cpu_time(lambda: ekf.run(record))[0] for _ in range(REPEATS))})
    emit({"error": rms(estimate.record["A.angle"] - fast["A.angle"], FAST)})
    slow = da.simulate(eqs, until=DURATION, start=start(eqs), every=SLOW)
    torque = ideal_torque(eqs, slow)
    benchmark: dict[str, Any] = {"torque rms [N m]": rms(torque, SLOW)}
    for outputs in (["encoder"], ["encoder", "gyroscope"], list(NOISE)):
        for kind in (da.estimate.ExtendedKalman, da.estimate.SigmaPointKalman):
            found = observer(kind, outputs, SLOW).run(noisy(slow)).record
            benchmark[f"{kind.__name__}, {' '.join(outputs)}"] = {
                "angle rms [deg]": math.degrees(rms(found["A.angle"] - slow["A.angle"], SLOW)),
                "torque error rms [N m]": rms(found["torque"] - torque, SLOW),
            }
    emit({"benchmark": benchmark})
