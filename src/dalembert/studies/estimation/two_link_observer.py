"""A two-link arm observed by its kinematics: an encoder in each joint, an accelerometer on each link.

State [θ₁ θ₂ θ̇₁ θ̇₂ θ̈₁ θ̈₂], inputs the accelerations normal to the links, outputs the joint angles (Palomba 2016,
section 2.3.2). There a test bench was measured; its recordings are not available, so the motion is simulated here with
the sensors of the source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.progress import step
from dalembert.estimate import (
    Accelerometer,
    Comparison,
    Encoder,
    Estimate,
    ExtendedKalman,
    KinematicModel,
    SigmaPointKalman,
    SphericalSimplex,
    lanczos_derivative,
    measure,
    model_kinematics,
    smooth,
)
from dalembert.studies.runner import Outcome, rms
from dalembert.view.plots.figures import BLUE, GREY, INK, RED, STYLE, new_figure
from dalembert.view.reports.pages import Heading, Listing, Moving, Picture, Piece, Table, Text, Verbatim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORIGIN = "I. Palomba, State estimation in multibody systems (thesis, Padova), section 2.3.2; motion simulated here"
L1, L2, D1, D2 = 0.4, 0.4, 0.3, 0.25
"""Lengths of the links, places of the accelerometers from the joints [m]; not given in the source."""
DT, SETTLE = 1e-3, 0.5
SWEEP = 0.06
"""Amplitude of the shoulder in TEST 2 [rad]."""
SENSORS: dict[str, Any] = {
    "encoder 1": Encoder(1000, noise=0.0),
    "encoder 2": Encoder(1000, noise=0.0),
    "acc1.y": Accelerometer(101.9e-3, bits=16, range=20.0),
    "acc2.y": Accelerometer(6.81e-3, bits=16, range=20.0),
}
INPUTS, ENCODERS = ("acc1.y", "acc2.y"), ("encoder 1", "encoder 2")
STEPS = {"TEST 1": 12.0, "TEST 2": 12.0, "do the sensors suffice": 2.0}
STATES = ("A.angle", "B.angle", "A.rate", "B.rate", "A.acceleration", "B.acceleration")
SOURCE_CPU = {"TEST 1": (0.85, 6.65), "TEST 2": (0.78, 6.00)}
"""Processor time of SS-UKF and EKF [s]."""
ASSUMED = (
    f"Links of {L1:g} and {L2:g} m, accelerometers at {D1:g} and {D2:g} m from their joints, sampling at 1 kHz: none "
    "is given in the source.",
    "The arm lies in a horizontal plane (the source's formulas have no gravity). Uniform links of 0.8 and 0.6 kg, "
    "viscous friction in the elbow: they make the motion, the observers do not know them.",
    f"TEST 2: the shoulder follows a sine of {SWEEP:g} rad whose frequency falls from 10 to 1 Hz within 9 s. TEST 1: "
    "impacts of 20 ms on the shoulder, alternating, one per second; a soft spring and friction hold it.",
    "Encoders of 1000 steps per turn show the nearest step and have no other noise. Accelerometers of 101.9 and 6.81 "
    "mV/(m/s²) on a 16-bit converter of ±10 V: noise of one step (0.0030 and 0.0448 m/s²), and the steps.",
    "R is a twelfth of an encoder's step squared; Q the accelerometers' variance through the joints. Scheme 1, Euler, "
    "as in the source.",
)


def machine(*, driven: bool = False, hit: bool = False) -> da.Mechanism:
    """Shoulder A, elbow B; the accelerometers' second axis is normal to the link."""
    m = da.Mechanism("two-link arm", planar=True, gravity=(0, 0))
    upper = m.add_body("upper", mass=0.8, inertia=da.rod(L1), position=(L1 / 2, 0))
    lower = m.add_body("lower", mass=0.6, inertia=da.rod(L2), position=(L1 + L2 / 2, 0))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-L1 / 2, 0))
    m.add_revolute("B", upper.at(L1 / 2, 0), lower.at(-L2 / 2, 0))
    m.add_damper("elbow friction", joint="B", damping=0.02)
    m.add_sensor("encoder 1", da.angle("A"))
    m.add_sensor("encoder 2", da.angle("B"))
    m.add_sensor("acc1", da.accelerometer(upper.at(D1 - L1 / 2, 0)))
    m.add_sensor("acc2", da.accelerometer(lower.at(D2 - L2 / 2, 0)))
    m.add_sensor("A.acceleration", da.joint_acceleration("A"))
    m.add_sensor("B.acceleration", da.joint_acceleration("B"))
    if driven:
        m.add_driver("sweep", "A", lambda t: SWEEP * da.sin(2 * np.pi * (10 * t - t**2 / 2)))
    if hit:
        m.add_spring("hold", joint="A", stiffness=4.0, damping=0.1)
        m.add_actuator("impact", joint="A", input="impact")
    return m


def impact_torque(t: Any) -> Any:
    """Half-sines of 20 ms and 12 N m at 0.5, 1.5, ... s, alternating."""
    total: Any = 0.0
    for k in range(10):
        since = (t - 0.5 - k) / 0.02
        total = total + da.where(since * (1 - since) > 0, (-1.0) ** k * 12.0 * da.sin(np.pi * since), 0.0)
    return total


def hit_arm() -> da.Record:
    """The true motion of TEST 1."""
    eqs = da.equations(machine(hit=True))
    return da.simulate(eqs, 10.0, inputs={"impact": impact_torque}, method=da.RK4(step=DT / 2), every=DT)


def swept_arm() -> da.Record:
    """The true motion of TEST 2."""
    eqs = da.equations(machine(driven=True))
    start = da.assemble(eqs, {"B.angle": 0.3})
    return da.simulate(eqs, 9.0, start=start, method=da.RK4(step=DT / 2), every=DT)


def read_sensors(run: da.Record, seed: int = 0) -> da.Record:
    return measure(run.select(*SENSORS), SENSORS, seed=seed)


def observer(run: da.Record, **options: Any) -> KinematicModel:
    """Scheme 1 with Euler's method, with the initial state of the encoders."""
    angles = {"A.angle": float(run["encoder 1"][0]), "B.angle": float(run["encoder 2"][0])}
    return model_kinematics(
        machine(), independent=["A.angle", "B.angle"], inputs=list(INPUTS), outputs=list(ENCODERS), start=angles,
        **{"scheme": "constraint", **options},
    )  # fmt: skip


def filters(model: KinematicModel) -> dict[str, Any]:
    noise: dict[str, Any] = {
        "R": [SENSORS[name].variance for name in ENCODERS],
        "input_noise": {name: SENSORS[name].variance for name in INPUTS},
        "P0": [1e-5, 1e-5, 1.0, 1.0, 100.0, 100.0],
    }
    return {
        "EKF": ExtendedKalman(model, **noise),
        "SS-UKF": SigmaPointKalman(model, points=SphericalSimplex(0.25), **noise),
    }


def lanczos_errors(data: da.Record, run: da.Record) -> tuple[dict[str, float], da.Record, da.Record]:
    """RMS errors of derivatives of the encoders, two-sided, and these derivatives."""
    found: dict[str, float] = {}
    records = []
    for order, kind in ((1, "rate"), (2, "acceleration")):
        record = lanczos_derivative(data, ENCODERS, order=order)
        late = record.time >= SETTLE
        first = round(float(record.time[0] / DT))
        for name, encoder in (("A", "encoder 1"), ("B", "encoder 2")):
            true = run[f"{name}.{kind}"][first : first + len(record)]
            found[f"{name}.{kind}"] = rms((record[encoder] - true)[late])
        records.append(record)
    return found, records[0], records[1]


@dataclass(frozen=True)
class Test:
    """One test: the motion, the readings, and the estimates of the filters and of Lanczos."""

    __test__ = False  # no test of a test runner

    run: da.Record
    data: da.Record
    estimates: dict[str, Estimate]
    errors: dict[str, Comparison]
    lanczos: dict[str, float]
    rates: da.Record
    accelerations: da.Record
    current: Comparison
    smoothed: Comparison

    @property
    def apart(self) -> float:
        """Largest difference of the two filters' RMS errors of speed and acceleration [%]."""
        both = self.errors["EKF"], self.errors["SS-UKF"]
        return max(100 * abs(both[1][name] / both[0][name] - 1) for name in STATES[2:])


def examine(run: da.Record) -> Test:
    """Sensors, filters and Lanczos' derivative of one motion."""
    data = read_sensors(run)
    estimates = {kind: one.run(data) for kind, one in filters(observer(data)).items()}
    errors = {kind: one.compare(run, settle=SETTLE, channels=list(STATES)) for kind, one in estimates.items()}
    now = observer(data, use_current=True, method="heun")
    latest = filters(now)["EKF"].run(data)
    current, smoothed = (e.compare(run, settle=SETTLE, channels=list(STATES)) for e in (latest, smooth(latest)))
    return Test(run, data, estimates, errors, *lanczos_errors(data, run), current, smoothed)


def study() -> Outcome:
    """Both tests, both filters, against Lanczos' derivative."""
    found = {}
    for name, motion in (("TEST 1", hit_arm), ("TEST 2", swept_arm)):
        step(name)
        found[name] = examine(motion())
    step("do the sensors suffice")
    check = observer(found["TEST 2"].data).check(workspace={"A.angle": (-1.0, 1.0), "B.angle": (-2.0, 2.0)}).table()
    provenance = {"data": ORIGIN, "seed": 0, "sampling": f"{DT:g} s"}
    title = "Two-link arm: joint speeds and accelerations from encoders and accelerometers on the links"
    words = (
        "TEST 1 from above, at half speed: impacts on the shoulder, one per second, and the trace of the middle of "
        "the forearm. The arm lies in a horizontal plane."
    )
    hit = found["TEST 1"].run.between(0.0, 4.0)
    return Outcome(
        title, _results(found), _pieces(found, check), provenance,
        moving=[Moving("arm", da.animate(hit, speed=0.5, trail="lower"), words)],
        model=(machine(), da.equations(machine())),
    )  # fmt: skip


# ---- report


def _results(found: dict[str, Test]) -> dict[str, Any]:
    return {
        name: {
            "rms": {kind: one.rms for kind, one in test.errors.items()},
            "lanczos_rms": test.lanczos,
            "input_of_the_same_instant_rms": test.current.rms,
            "smoothed_rms": test.smoothed.rms,
            "signal_rms": test.errors["EKF"].signal_rms,
            "filters_apart_percent": test.apart,
            "better_than_lanczos": {c: test.lanczos[c] / max(e[c] for e in test.errors.values()) for c in STATES[2:]},
            "processor_seconds": {kind: one.seconds for kind, one in test.estimates.items()},
            "source_processor_seconds": dict(zip(("SS-UKF", "EKF"), SOURCE_CPU[name], strict=True)),
        }
        for name, test in found.items()
    } | {"assumptions": list(ASSUMED)}


def _pieces(found: dict[str, Test], check: str) -> list[Piece]:
    swept = found["TEST 2"]
    gain = {c: swept.lanczos[c] / max(e[c] for e in swept.errors.values()) for c in STATES[2:]}
    with mpl.rc_context(STYLE):
        pictures = [
            Picture(f"{name.lower().replace(' ', '-')}", _plot(test, *part), caption)
            for (name, test), part, caption in zip(
                found.items(), ((4.4, 5.2), (0.5, 1.3)),
                ("TEST 1: speed and acceleration of both joints after an impact.",
                 "TEST 2: speed and acceleration of both joints while the shoulder is swept at about 9 Hz."),
                strict=True,
            )
        ]  # fmt: skip
    lag = swept.errors["EKF"]["A.acceleration"] / swept.current["A.acceleration"]
    first = Text(
        "Speeds and accelerations of both joints are estimated from coarse encoders (1000 steps per turn) and an "
        "accelerometer on each link; the joints' geometry is all the filters know. While the shoulder is swept, speeds "
        f"are {min(gain['A.rate'], gain['B.rate']):.0f} times and accelerations "
        f"{min(gain['A.acceleration'], gain['B.acceleration']):.0f} times better than Lanczos' derivative of the "
        f"encoders, which even looks ahead. The EKF and the sigma points differ by {swept.apart:.1g} % at most: the "
        "arm is nearly linear from one sample to the next. Nearly all that is left of the acceleration's error is one "
        f"sample of lag: with the input of the same instant it falls by a factor of {lag:.0f}."
    )
    return [
        first, Heading("The source and this study side by side"), _side_by_side(found), *pictures,
        Heading("Errors"), *(_error_table(name, test) for name, test in found.items()),
        Heading("Do the sensors suffice?"), Verbatim(check), Heading("What was assumed"), Listing(ASSUMED),
    ]  # fmt: skip


def _side_by_side(found: dict[str, Test]) -> Table:
    rows = []
    for name, test in found.items():
        ekf = test.errors["EKF"]
        rows.append(
            (f"{name}: estimates", "smooth, no appreciable delay", f"speed {ekf['A.rate']:.3f} and {ekf['B.rate']:.3f} "
             f"rad/s, acceleration {ekf['A.acceleration']:.2f} and {ekf['B.acceleration']:.2f} rad/s² RMS",
             "the source has no truth to compare with")
        )  # fmt: skip
        rows.append(
            (f"{name}: Lanczos", "very noisy", f"speed {test.lanczos['A.rate']:.2f} rad/s, acceleration "
             f"{test.lanczos['A.acceleration']:.0f} rad/s² RMS", "agrees")
        )  # fmt: skip
        ours = test.estimates["SS-UKF"].seconds, test.estimates["EKF"].seconds
        theirs = SOURCE_CPU[name]
        rows.append(
            (f"{name}: processor", f"SS-UKF {theirs[0]:g} s, EKF {theirs[1]:g} s (ratio {theirs[1] / theirs[0]:.1f})",
             f"SS-UKF {ours[0]:.2f} s, EKF {ours[1]:.2f} s (ratio {ours[1] / ours[0]:.2f})",
             "13 evaluations of the model against 8 would not give 7.8; here slopes come from the expressions")
        )  # fmt: skip
    apart = " and ".join(f"{test.apart:.1g} %" for test in found.values())
    rows.append(
        ("EKF and SS-UKF", "speed of the SS-UKF slightly less noisy, accelerations overlap", f"at most {apart} apart",
         "the relations are regular everywhere and smooth at 1 kHz: both filters see the same linear step")
    )  # fmt: skip
    caption = "The source's sensors and tests; geometry, motion and tuning are assumed (end of this page)"
    return Table(("", "source (measured)", "here (simulated)", "why"), tuple(rows), caption)


def _error_table(name: str, test: Test) -> Table:
    def row(label: str, values: Any) -> tuple[str, ...]:
        return (label, *(f"{values[c]:.3g}" if c in values else "-" for c in STATES))

    rows = [row(kind, one.rms) for kind, one in test.errors.items()]
    rows += [row("EKF, input of the same instant", test.current.rms), row("the same, smoothed", test.smoothed.rms)]
    rows.append(row("Lanczos, 7 points", test.lanczos))
    rows.append(row("the signal itself", test.errors["EKF"].signal_rms))
    head = ("", "θ₁ [rad]", "θ₂ [rad]", "θ̇₁ [rad/s]", "θ̇₂ [rad/s]", "θ̈₁ [rad/s²]", "θ̈₂ [rad/s²]")
    return Table(head, tuple(rows), f"{name}: root-mean-square errors after {SETTLE:g} s")


def _plot(test: Test, start: float, stop: float) -> Figure:
    figure = new_figure(8.5, 5.4)
    axes: Any = figure.subplots(2, 2, sharex=True)
    run = test.run.between(start, stop)
    for column, (joint, encoder, title) in enumerate((("A", "encoder 1", "shoulder"), ("B", "encoder 2", "elbow"))):
        for row, (kind, rough) in enumerate((("rate", test.rates), ("acceleration", test.accelerations))):
            ax = axes[row, column]
            name = f"{joint}.{kind}"
            true = run[name]
            part = rough.between(start, stop)
            ax.plot(part.time, part[encoder], color=GREY, lw=0.5, label="Lanczos")
            for colour, (label, estimate) in zip((BLUE, RED), test.estimates.items(), strict=True):
                some = estimate.record.between(start, stop)
                ax.plot(some.time, some[name], color=colour, lw=1.2, label=label)
            ax.plot(run.time, true, color=INK, lw=0.9, ls="--", label="true")
            ax.set_ylim(*(1.6 * np.abs(true).max() * np.array([-1.0, 1.0])))
        axes[0, column].set_title(title, loc="left", fontsize=10)
        axes[1, column].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("speed [rad/s]")
    axes[1, 0].set_ylabel("acceleration [rad/s²]")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside upper right", fontsize=8, ncol=4)
    figure.align_ylabels()
    return figure
