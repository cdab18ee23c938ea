"""Fast control of an arm with two elastic links in every pose: fixed structures, the whole loop, nominal designs.

Two equal links of 0.4 m, elliptic tubes of aluminium, two bending modes each with 0.1 % damping (Scaglioni 2016, ch. 5;
the part of the source is not published). The fast model changes with the angle of the elbow. A gain designed for one
pose loses its damping in others; one gain for all poses does not. The slow law holds the joints, which the fast model
does not know: the loop of the whole machine decides.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from scipy.linalg import block_diag

import dalembert as da
from dalembert.control.two_time_scale.composite import smallest_damping
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.progress import step
from dalembert.equations import State
from dalembert.linear import StateSpace, connect
from dalembert.solve.scales.two_time_scale import TwoTimeScale
from dalembert.structures import Beam, BeamGauge, Material, Section, flexible_body
from dalembert.studies.runner import Outcome
from dalembert.tree.trajectories.polynomial import rest_to_rest
from dalembert.view.plots.figures import BLUE, GREEN, GREY, RED, STYLE, log_ticks, new_figure
from dalembert.view.reports.pages import Picture, Piece, Table, Text

JOINTS = ("shoulder.angle", "elbow.angle")
LENGTH, DAMPING = 0.4, 1e-3
TUBE = Section(3.016e-4, 1.1378e-7, 6.024e-8, 1e-7, height=0.04, width=0.06)
"""Of 60 by 40 mm with walls of 2 mm; bends about its weak axis. The torsion constant is not used in the plane."""
ALUMINIUM = Material("aluminium", E=70e9, density=2700.0, poisson=0.33)
GRID, CHECK = 24, 96
"""Angles of the elbow of the design and of the check."""
LEAST, PHASE, CROSSOVER = 0.5, math.radians(50.0), 2 * math.pi * 25e3
"""Least damping ratio, phase margin [rad] and highest crossover [rad/s]."""
SLOW = ((12.0, 16.0), (30.0, 40.0), (100.0, 130.0), (300.0, 400.0))
"""ω of the slow law of both joints [rad/s]."""
WEIGHTS = (1e-6, 1e-4, 1e-2, 1.0)
"""Of the torques, in the nominal regulators, beside one for every state."""
MOVE, DURATION, AFTER, ENERGY = (0.05, -0.03), 0.1, 0.02, 0.1
"""Motion of the joints [rad], its time and the rest after it [s]; energy of two fast modes at the start [J]."""
RESIDUAL, ABOVE = (2e-3, 30e-3), 400.0
"""Residual vibration is that between these times [s], above this frequency [Hz], half of the lowest fast mode."""
EVERY = 2e-6
"""Sampling of the filter and of the law behind it [s]."""
SEED, NOISE = 3, {"angle": 1e-6, "strain": 1e-8}
STEPS = {"family": 3.0, "structured": 25.0, "composite": 60.0, "nominal": 3.0, "simulation": 30.0}


def arm(*, gravity: bool = False) -> da.Mechanism:
    """Two links in a plane, encoders of the joints and two strain gauges on each link."""
    m = da.Mechanism("robust arm", planar=True)
    gauges = {"root": BeamGauge(0.02, 0.02), "middle": BeamGauge(0.2, 0.02)}
    links = []
    for k, name in enumerate(("link1", "link2")):
        data = flexible_body(
            Beam(LENGTH, TUBE, ALUMINIUM, left="clamped", right="free"), name=name, nodes={"start": 0.0, "end": LENGTH},
            modes=2, damping=DAMPING, stiffening=False, gauges=gauges,
        )  # fmt: skip
        links.append(m.add_flexible_body(name, data, position=(k * LENGTH, 0.0)))
    m.add_revolute("shoulder", m.ground.at(0, 0), links[0].at("start"))
    m.add_revolute("elbow", links[0].at("end"), links[1].at("start"))
    for joint in ("shoulder", "elbow"):
        m.add_actuator(f"{joint}_motor", joint=joint, input=f"{joint}_torque")
        m.add_sensor(f"{joint}_encoder", da.angle(joint))
    for link in links:
        for gauge in gauges:
            m.add_sensor(f"{link.name}_{gauge}", da.strain(link, gauge))
    if not gravity:
        m.gravity = (0.0, 0.0)
    return m


def elbows(count: int) -> FloatArray:
    """Evenly spaced angles, all the way round."""
    return np.linspace(-np.pi, np.pi, count, endpoint=False)


def fast_models(two: TwoTimeScale, count: int) -> list[StateSpace]:
    """The fast model over the elbow; at order 0 it does not depend on the shoulder."""
    states = [da.assemble(two.eqs, {"shoulder.angle": 0.0, "elbow.angle": x}) for x in elbows(count)]
    return [model.replace(provenance={"at": {"elbow.angle": float(x)}})
            for model, x in zip(two.fast(states), elbows(count), strict=True)]  # fmt: skip


def slow_law(two: TwoTimeScale, omega: Sequence[float], motion: dict[str, Any] | None = None, dt: Any = None) -> Any:
    """Computed torque of the rigid arm."""
    return da.control.computed_torque(two.rigid, motion or dict.fromkeys(JOINTS, 0.0), dt=dt,
                                      frequency=dict(zip(JOINTS, omega, strict=True)))  # fmt: skip


def whole_models(two: TwoTimeScale, omega: Sequence[float], count: int = GRID) -> list[StateSpace]:
    """The whole machine with the slow law closed, over the elbow."""
    law = da.control.composite(two, slow_law(two, omega), workspace={"elbow.angle": [0.0]})
    return [law.plant({"shoulder.angle": 0.0, "elbow.angle": x}) for x in elbows(count)]


def loop_damping(two: TwoTimeScale, omega: Sequence[float], fast: Any, count: int = GRID) -> float:
    """Least damping ratio of the whole machine over the elbow; negative where it is not stable."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*linear loop of the whole")
        law = da.control.composite(two, slow_law(two, omega), fast, workspace={"elbow.angle": elbows(count)})
    return float(law.workspace.damping.min())


def structured_gain(models: list[StateSpace], reads: tuple[str, ...], order: int, **options: Any) -> Any:
    """One controller for all models."""
    hard = [da.control.DampingGoal(LEAST), da.control.PhaseMarginGoal(PHASE), da.control.CrossoverGoal(CROSSOVER)]
    return da.control.structured(models, da.control.FixedOrder(order, reads=reads), hard=hard, **options)


def judge_family(models: list[StateSpace], controller: StateSpace) -> dict[str, float]:
    """Damping, margin and crossover of one controller on fast models, by their exact methods."""
    goals = da.control.DampingGoal(LEAST), da.control.PhaseMarginGoal(PHASE), da.control.CrossoverGoal(CROSSOVER)
    damping, phase, crossover = ([goal.measure(model, controller) for model in models] for goal in goals)
    return {"damping": min(damping), "phase_deg": math.degrees(min(phase)), "khz": max(crossover) / (2e3 * math.pi)}


def nominal(models: list[StateSpace]) -> list[dict[str, float]]:
    """Regulators of one pose, on all poses."""
    rows = []
    for k in (GRID // 2, 2 * GRID // 3, 3 * GRID // 4):  # straight, 60° and 90°
        for weight in WEIGHTS:
            gain = da.control.lqr(models[k], Q=1.0, R=weight).K
            damping = [smallest_damping(np.linalg.eigvals(model.A - model.B @ gain)) for model in models]
            rows.append({"elbow": float(elbows(GRID)[k]), "weight": weight, "here": damping[k], "least": min(damping)})
    return rows


def regions(models: list[StateSpace]) -> dict[str, Any]:
    """One gain with one Lyapunov matrix for all models, by matrix inequalities, in the plane and out of it."""
    drives = models[0].inputs
    results: dict[str, Any] = {}
    for damping in (0.3, LEAST):
        region = da.control.PoleRegion(damping=damping, decay=10.0)
        design = da.control.lmi_state_feedback(models, inputs=drives, region=region)
        loops = [model.A + model.B @ design.controller.D for model in models]
        results[f"{damping:g}"] = min(smallest_damping(np.linalg.eigvals(A)) for A in loops)
    omega = 2 * math.pi * 350.0  # a mode that bends out of the plane, parallel to the joints
    mode = np.array([[0.0, 1.0], [-(omega**2), -2 * DAMPING * omega]])
    with_mode = [
        StateSpace(block_diag(model.A, mode), np.vstack([model.B, np.zeros((2, 2))]), inputs=drives,
                   states=[*model.states, "out of plane", "out of plane.rate"])
        for model in models
    ]  # fmt: skip
    try:
        da.control.lmi_state_feedback(with_mode, inputs=drives, region=da.control.PoleRegion(damping=LEAST))
    except DataError as error:
        results["out_of_plane"] = error.code
    return results


def mu_synthesis(two: TwoTimeScale) -> tuple[dict[str, Any], Any, Any]:
    """D-K iteration for the straight arm with an output uncertainty that covers all poses; in fast time. Its results,
    the design and the cover.

    From disturbances of the torques, beside noise of 1 %, to 2 % of the deflections and 10 % of the torques.
    """
    states = [da.assemble(two.eqs, {"shoulder.angle": 0.0, "elbow.angle": x}) for x in elbows(GRID)]
    m, (u, d) = len(two.eqs.elastic), (["u1", "u2"], ["d1", "d2"])
    e, y, z, noise = ([f"{letter}{k}" for k in range(m)] for letter in "eyzn")
    family = [StateSpace(model.A, model.B, model.C[:m], inputs=["t1", "t2"], outputs=e)
              for model in two.fast(states, scaled=True)]  # fmt: skip
    covered = da.control.cover(family, order=2, nominal=family[GRID // 2])
    parts: list[Any] = [
        covered.uncertain,
        StateSpace.gain(np.hstack([np.eye(2), np.eye(2)]), inputs=[*u, *d], outputs=["t1", "t2"]),
        StateSpace.gain(np.hstack([np.eye(m), 0.01 * np.eye(m)]), inputs=[*e, *noise], outputs=y),
        StateSpace.gain(block_diag(0.02 * np.eye(m), 0.1 * np.eye(2)), inputs=[*e, *u], outputs=[*z, "v1", "v2"]),
    ]
    plant: Any = connect(parts, inputs=[*d, *noise, *u], outputs=[*z, "v1", "v2", *y])
    design = da.control.dk(plant, outputs=y, inputs=u, order=1, rounds=3)
    controller = design.controller.replace(inputs=e, outputs=["t1", "t2"])
    damping = [da.control.DampingGoal(LEAST).measure(model, controller) for model in family]
    results = {
        "mu": float(design.judged.upper.max()), "order": controller.nx,
        "largest_weight": float(covered.needed.max()), "damping": [min(damping), max(damping)],
    }  # fmt: skip
    return results, design, covered


def answer(model: StateSpace, controller: StateSpace | None, times: FloatArray) -> FloatArray:
    """Of the first mode of the second link to a push of the shoulder."""
    values, shapes = np.linalg.eig(model.A if controller is None else model.A + model.B @ controller.D)
    row = model.outputs.index("link2.mode1")
    shares = shapes[row] * np.linalg.solve(shapes, model.B[:, 0])
    return np.real(np.exp(np.outer(times, values)) @ shares)


def settling(model: StateSpace, controller: StateSpace | None, band: float = 0.02) -> float:
    """Time after which that answer stays in a band, a share of its largest value [s]."""
    times = np.linspace(0.0, 1.0 if controller is None else 0.02, 40001)
    values = np.abs(answer(model, controller, times))
    return float(times[np.flatnonzero(values > band * values.max())[-1]])


def vibration_energy(eqs: da.EquationsOfMotion, run: da.Record) -> FloatArray:
    """Elastic energy and energy of the speeds of the modes above a frequency [J]; modes have unit mass."""
    from scipy.signal import butter, sosfiltfilt

    K = np.array(da.separate_scales(eqs, order=0).split.matrices(eqs.p)[0])
    high = butter(4, ABOVE, "high", fs=1.0 / float(run.time[1] - run.time[0]), output="sos")
    q, v = (sosfiltfilt(high, np.column_stack([run[name + end] for name in eqs.elastic]), axis=0)
            for end in ("", ".rate"))  # fmt: skip
    return np.asarray(0.5 * np.einsum("ti,ij,tj->t", q, K, q) + 0.5 * (v**2).sum(axis=1))


def vibrating_state(two: TwoTimeScale) -> State:
    """The straight arm in its two lowest fast modes, without momentum of the joints."""
    eqs, (model,) = two.eqs, two.fast([da.assemble(two.eqs, dict.fromkeys(JOINTS, 0.0))])
    values, shapes = np.linalg.eig(model.A)
    m = len(eqs.elastic)
    lowest = np.argsort(np.abs(values), kind="stable")[[0, 2]]
    rates = sum(np.real(shapes[m:, k] / shapes[m + int(np.argmax(np.abs(shapes[m:, k]))), k]) for k in lowest)
    M = eqs.kernel("inertia")(eqs.state().q, eqs.p, 0.0)[0]
    whole = np.concatenate([-np.linalg.solve(M[:2, :2], M[:2, 2:] @ rates), rates])
    whole *= np.sqrt(2 * ENERGY / (whole @ M @ whole))
    return eqs.state(eqs.state().q, whole)


def residual_energy(eqs: da.EquationsOfMotion, run: da.Record) -> float:
    """Mean vibration energy after the knock [J]."""
    window = (run.time > RESIDUAL[0]) & (run.time < RESIDUAL[1])
    return float(vibration_energy(eqs, run)[window].mean())


def simulate(eqs: da.EquationsOfMotion, two: TwoTimeScale, fast: Any) -> dict[str, da.Record]:
    """A quick motion of both joints: slow law, with the fast law on measured modes, on estimated ones, and P/PI."""

    def target(x: float) -> Any:
        return lambda t: x * rest_to_rest(da.where(t < DURATION, t / DURATION, 1.0), 7)

    motion = {name: target(x) for name, x in zip(JOINTS, MOVE, strict=True)}
    start = vibrating_state(two)
    until, one = DURATION + AFTER, {"elbow.angle": [0.0]}
    slow = {dt: slow_law(two, SLOW[0], motion, dt) for dt in (None, EVERY)}
    laws = {
        name: da.control.composite(two, slow[None], law, workspace=one)
        for name, law in (("slow", None), ("both", fast))
    }
    joints = da.control.cascade(eqs, motion, drives=dict(zip(JOINTS, eqs.inputs.names, strict=True)), position=20.0,
                                velocity=dict(zip(JOINTS, (15.0, 3.0), strict=True)), integral=60.0)  # fmt: skip
    method = da.DormandPrince(rtol=1e-6)
    run: dict[str, Any] = {"method": method, "every": 2e-5, "progress": False, "start": start}
    runs = {name: da.simulate(eqs, until, controller=law, **run) for name, law in (*laws.items(), ("P/PI", joints))}
    outputs = eqs.outputs.names
    deviation = [NOISE["angle"] if name.endswith("encoder") else NOISE["strain"] for name in outputs]
    ekf = da.estimate.ExtendedKalman(eqs, outputs=outputs, Q=1e-8, R=np.square(deviation), P0=1e-8, at=start, dt=EVERY)
    sampled = sampled_law(fast)
    law = da.control.composite(two, slow[EVERY], sampled, workspace=one)
    noise = da.Noise(sensors=dict(zip(outputs, deviation, strict=True)), seed=SEED)
    runs["estimated"] = da.simulate(eqs, until, controller=law, observer=ekf, noise=noise, **run)
    return runs


def sampled_law(fast: Any) -> Any:
    """A static fast law, held over the samples of the filter."""
    from dataclasses import replace

    return replace(fast.law(), dt=EVERY)


def study() -> Outcome:
    """Family, structures, whole loops, nominal regulators, impulse answers and a run."""
    step("family")
    m = arm()
    eqs = da.equations(m, coordinates="joint")
    two = da.separate_scales(eqs, order=0)
    models, fine = fast_models(two, GRID), fast_models(two, CHECK)
    reads = models[0].outputs
    frequencies = np.array([np.sort(np.abs(np.linalg.eigvals(model.A)))[::2] for model in fine]) / (2 * np.pi)
    step("structured")
    design = structured_gain(models, reads, 0, starts=2)
    coarse, checked = judge_family(models, design.controller), judge_family(fine, design.controller)
    step("composite")
    whole = [model for omega in SLOW[:2] for model in whole_models(two, omega)]
    goals = [da.control.DampingGoal(LEAST), da.control.CrossoverGoal(CROSSOVER)]
    joint = da.control.structured([*models, *whole], da.control.StaticGain(reads=reads), hard=goals, starts=2)
    laws = {"slow_only": None, "fast_family": design, "with_fast": joint}
    composite = {name: [loop_damping(two, omega, law) for omega in SLOW] for name, law in laws.items()}
    placed = [model.replace(provenance={"at": {"elbow.angle": float(x)}})
              for omega in SLOW[:3]
              for model, x in zip(whole_models(two, omega), elbows(GRID), strict=True)]  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no controller of this structure")
        scheduled = da.control.structured([*models, *placed], da.control.StaticGain(reads=reads), hard=goals, starts=1,
                                          scheduled="elbow.angle")  # fmt: skip
    composite["scheduled"] = [loop_damping(two, omega, scheduled) for omega in SLOW]
    step("nominal")
    rows = nominal(models)
    region, (robust, robust_design, covered) = regions(models), mu_synthesis(two)
    settled = [max(settling(model, law) for model in models) for law in (None, design.controller)]
    step("simulation")
    runs = simulate(eqs, two, joint)
    after = {name: residual_energy(eqs, run) for name, run in runs.items()}
    results = {
        "epsilon": two.epsilon,
        "free_hz_range": np.column_stack([frequencies.min(axis=0), frequencies.max(axis=0)]),
        "structured": {
            "order": design.controller.nx, "min_damping": coarse["damping"], "min_damping_fine": checked["damping"],
            "phase_margin_deg": min(coarse["phase_deg"], checked["phase_deg"]),
            "crossover_khz": max(coarse["khz"], checked["khz"]),
        },
        "composite": {"slow_rad_s": SLOW, **composite},
        "lmi": {"region": region},
        "mu_synthesis": robust,
        "nominal_lqr": {"best_least_damping": max(row["least"] for row in rows), "designs": rows},
        "impulse": {"settling_s": settled, "settling_ratio": settled[1] / settled[0]},
        "simulation": {
            "vibration_energy_j": after,
            "vibration_energy_ratio": {"measured": after["both"] / after["slow"],
                                       "estimated": after["estimated"] / after["slow"],
                                       "cascade": after["P/PI"] / after["slow"]},
        },
    }  # fmt: skip
    with mpl.rc_context(STYLE):
        spectra = Picture("spectra", _spectra(runs), "Spectrum of a strain of the second link in that run.")
    pieces = [
        *_pieces(results, models, design, runs, eqs),
        spectra,
        *_robustness(results, models, design, robust_design, covered),
    ]
    return Outcome("Fast control of an elastic arm in every pose", results, pieces, {"seed": SEED}, model=(m, eqs))


def _pieces(
    results: dict[str, Any], models: list[StateSpace], design: Any, runs: dict[str, da.Record],
    eqs: da.EquationsOfMotion,
) -> list[Piece]:  # fmt: skip
    fixed, loops, ratio = results["structured"], results["composite"], results["simulation"]["vibration_energy_ratio"]
    regulators = results["nominal_lqr"]
    first = Text(
        f"One gain for all poses gives every fast mode a damping ratio of {fixed['min_damping']:.2f} "
        f"({fixed['min_damping_fine']:.2f} between the poses of the design), with a phase margin of "
        f"{fixed['phase_margin_deg']:.0f} degrees and crossovers below {fixed['crossover_khz']:.0f} kHz. The best of "
        f"{len(regulators['designs'])} regulators of one pose has {regulators['best_least_damping']:.2f} over the "
        f"poses. Where the arm vibrates at the beginning of a motion, {100 * ratio['measured']:.2g} % of the vibration "
        f"energy of the slow law alone is left ({100 * ratio['estimated']:.2g} % with modes from encoders and strains)."
    )
    names = {"slow_only": "slow law alone", "fast_family": "designed on fast models",
             "with_fast": "designed with whole loops", "scheduled": "scheduled by the elbow"}  # fmt: skip
    lines = tuple((text, *(f"{value:.3f}" for value in loops[key])) for key, text in names.items())
    columns = ("fast law", *(f"{a:g}/{b:g} rad/s" for a, b in SLOW))
    with mpl.rc_context(STYLE):
        plane = new_figure(7.0, 4.5)
        axes = plane.subplots()
        for label, gain, color in (("free", np.zeros((2, 8)), GREY), ("one gain", design.controller.D, BLUE)):
            poles = np.concatenate([np.linalg.eigvals(model.A + model.B @ gain) for model in models])
            poles = 1e-3 * poles[(poles.imag >= 0) & (np.abs(poles) < 8e4)]
            axes.plot(poles.real, poles.imag, ".", ms=4, color=color, label=label)
        axes.plot([0.0, -45.0 * math.tan(math.asin(LEAST))], [0.0, 45.0], color=RED, lw=1, label="goal")
        axes.set_xlim(-30.0, 2.0)
        axes.set_xlabel("real part [1000 rad/s]")
        axes.set_ylabel("imaginary part [1000 rad/s]")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure = new_figure(8.5, 5.5)
        upper, lower = figure.subplots(2, 1)
        times = np.linspace(0.0, 0.01, 2001)
        for law, color, label in ((None, GREY, "free"), (design.controller, BLUE, "with the fast law")):
            upper.plot(1e3 * times, answer(models[GRID // 2], law, times), color=color, lw=1, label=label)
        upper.set_ylabel("mode of link 2\nper impulse [1/(N s)]")
        names_of_runs = {"slow": "slow law", "both": "slow and fast", "P/PI": "P/PI", "estimated": "modes estimated"}
        for (name, run), color, style in zip(runs.items(), (GREY, BLUE, RED, GREEN), ("-", "-", "-", ":"), strict=True):
            near = run.time < RESIDUAL[1] / 2
            lower.semilogy(1e3 * run.time[near], vibration_energy(eqs, run)[near], style, color=color, lw=1.2,
                           label=names_of_runs[name])  # fmt: skip
        lower.set_ylim(1e-9, 10.0)
        log_ticks(lower.yaxis)
        lower.set_xlabel("time [ms]")
        lower.set_ylabel("energy of modes [J]")
        for axes in (upper, lower):
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return [
        first, Table(columns, lines, "Least damping ratio of the whole machine over the elbow, by slow law"),
        Picture("poles", plane, "Poles of the fast models in all poses; the line has the damping ratio of the goal."),
        Picture("answers", figure, "Answer of the second link of the straight arm to a push of the shoulder; "
                "energy of its modes above 400 Hz in a run that begins with vibration."),
    ]  # fmt: skip


def _spectra(runs: dict[str, da.Record], name: str = "link2_root") -> Any:
    """Amplitudes of a strain over the vibration at the start, by law."""
    figure = new_figure(7.4, 3.6)
    axes = figure.subplots()
    for law, color, label in (("slow", GREY, "slow law"), ("both", BLUE, "slow and fast"), ("P/PI", RED, "P/PI")):
        run = runs[law]
        near = run.time < RESIDUAL[1]
        strain, dt = run[name][near], float(run.time[1] - run.time[0])
        window = np.cos(0.5 * np.pi * np.arange(len(strain)) / len(strain)) ** 2  # one at the start, zero at the end
        frequencies = np.fft.rfftfreq(4 * len(strain), dt)
        size = np.abs(np.fft.rfft((strain - strain[-1]) * window, 4 * len(strain))) * dt
        shown = (frequencies > 50.0) & (frequencies < 8e3)
        axes.loglog(frequencies[shown], size[shown], color=color, lw=1.2, label=label)
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    axes.set_xlabel("frequency [Hz]")
    axes.set_ylabel(f"strain of {name.replace('_', ', ')} [s]")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _robustness(
    results: dict[str, Any], models: list[StateSpace], design: Any, robust_design: Any, covered: Any
) -> list[Piece]:
    """The family of loops, and why one uncertain model of all poses does not help."""
    region, robust = results["lmi"]["region"], results["mu_synthesis"]
    words = Text(
        "A gain for the fast models alone may damp the whole arm or make it unstable: its design does not see the slow "
        f"law. Matrix inequalities find one gain for all poses too, damping {region['0.3']:.2f} where 0.3 is "
        f"asked for, {region['0.5']:.2f} where 0.5 is; with a mode that bends out of the plane they have no solution, "
        f"since no joint moves it. An uncertainty at the outputs that covers all poses is up to "
        f"{robust['largest_weight']:.0f} times the output itself: D-K iteration ends at {robust['mu']:.0f}, order "
        f"{robust['order']}, and damps no better than {robust['damping'][1]:.2f}."
    )
    scaled: dict[str, Any] = {"frequency": "rad/s", "title": ""}
    loops = da.plot(design, view="nyquist", models=models, title="")
    return [
        Picture("nyquist", loops, "Loops at the shoulder in all poses, the elbow closed."),
        words,
        Picture(
            "cover", da.plot(covered, **scaled), "What the poses need, and the weights that cover them; fast time."
        ),
        Picture("mu", da.plot(robust_design, **scaled), "Structured singular value after D-K iteration; fast time."),
    ]
