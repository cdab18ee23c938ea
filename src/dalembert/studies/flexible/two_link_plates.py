"""An arm of two thin plates: slow model, and slow and fast model together, beside the whole arm.

The planar arm of Scaglioni 2016, ch. 4, whose plates twist and bend normal to its plane under their weight. Its torque
and the spring of its elbow are not published: the elbow is held at a right angle by a spring and a damper, a bang-bang
torque turns the shoulder, and the arm begins at rest without deflection.
"""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.model.flexible import FlexibleBodyData
from dalembert.solve.scales.two_time_scale import TwoTimeScale
from dalembert.structures import Frame, Material, Section, Solid, box_mesh, flexible_body
from dalembert.studies.runner import Outcome, rms
from dalembert.view.plots.figures import BLUE, GREY, RED, STYLE, new_figure
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

LENGTH, THICKNESS, HEIGHT = 0.3, 0.002, 0.05
MODES = (1, 2, 3, 5)
"""The fourth mode, 320 Hz, is left out as published."""
PUBLISHED_HZ = (18.2, 114.0, 213.7)
"""Two bending modes and the twist of a Kirchhoff plate with one short edge clamped."""
DAMPING = 0.01
SPRING, DAMPER = 2.0, 0.02
"""Of the elbow [N m/rad], [N m s/rad]."""
TORQUE, SWITCHES = 0.05, (0.0, 0.1, 0.2, 0.4)
"""Bang-bang torque of the shoulder [N m]: forward, back, zero, between these times [s]."""
EVERY = 5e-4
STEPS = {"plates": 2.0, "motion": 6.0}


def plate(kind: str) -> FlexibleBodyData:
    """Data of one plate with its root clamped, of solid elements or of beam elements."""
    material = Material("aluminium plate", E=70e9, density=2800.0, poisson=0.33)
    how: dict[str, Any] = {"basis": "clamped", "fixed": "start", "modes": MODES, "damping": DAMPING}
    if kind == "solid":
        mesh = box_mesh((LENGTH, THICKNESS, HEIGHT), (30, 1, 5), "hex20", origin=(0.0, -THICKNESS / 2, -HEIGHT / 2))
        solid = Solid("plate", mesh, material)
        solid.add_interface("start", "x=0")
        return flexible_body(solid, nodes={"start": "start", "end": f"x={LENGTH}"}, **how)
    frame = Frame("plate")
    frame.add_points(["start", "end"], [[0.0, 0.0, 0.0], [LENGTH, 0.0, 0.0]])
    section = Section.rectangle(THICKNESS, HEIGHT, poisson=0.33)
    frame.add_beam("plate", "start", "end", section=section, material=material, elements=20)
    return flexible_body(frame, stiffening=False, **how)


def arm() -> da.Mechanism:
    """The library's arm, its elbow held by a spring and a damper."""
    m = da.read_model("two-link-plates")
    m.add_spring("elbow_spring", joint="elbow", stiffness=SPRING, damping=DAMPER, free=math.pi / 2)
    return m


def torques() -> list[tuple[float, float, float]]:
    """Begin, end and torque of each interval."""
    return list(zip(SWITCHES, SWITCHES[1:], (TORQUE, -TORQUE, 0.0), strict=False))


def whole_tip(eqs: da.EquationsOfMotion) -> tuple[da.Record, FloatArray]:
    """The whole arm: its run, and the place of its tip [m]."""
    start = da.assemble(eqs, {"shoulder.angle": 0.0, "elbow.angle": math.pi / 2} | dict.fromkeys(eqs.elastic, 0.0))

    def torque(t: Any) -> Any:
        return da.where(t < SWITCHES[1], TORQUE, da.where(t < SWITCHES[2], -TORQUE, 0.0))

    run = da.simulate(eqs, SWITCHES[-1], start=start, inputs={"shoulder_torque": torque}, every=EVERY,
                      method=da.Rosenbrock(), progress=False)  # fmt: skip
    return run, np.column_stack([run[f"tip.{axis}"] for axis in "xyz"])


def model_tip(two: TwoTimeScale, together: bool) -> FloatArray:
    """Place of the tip by the slow model, or by slow and fast models together [m].

    A switch of the torque moves the manifold at once, and not the arm: with the fast model its joints and deflections
    are continuous.
    """
    model = da.equations(two) if together else two.slow
    n, m = two.slow.nq, len(two.fast_coordinates)
    q, v = np.array([0.0, math.pi / 2]), np.zeros(n)
    x, y = np.zeros(m), np.zeros(m)
    parts = []
    for begin, end, torque in torques():
        inputs = {"shoulder_torque": torque}
        state = model.state(q, v) if not together else _leave(two, model, (q, v, x, y), inputs)
        run = da.simulate(model, end - begin, start=state, inputs=inputs, every=EVERY, method=da.Rosenbrock(),
                          progress=False)  # fmt: skip
        parts.append(np.column_stack([run[f"tip.{axis}"] for axis in "xyz"])[: None if end == SWITCHES[-1] else -1])
        q, v = (np.array([run[name][-1] for name in names]) for names in (model.coordinates.names, model.speeds.names))
        if together:
            shake = _shake(two, q[:n])
            x, y = (np.array([run[name + end][-1] for name in two.fast_coordinates]) for end in ("", ".rate"))
            q, v = q[:n] + shake @ q[n:], v[:n] + shake @ v[n:]
    return np.vstack(parts)


def _leave(two: TwoTimeScale, model: da.EquationsOfMotion, arm: Any, inputs: dict[str, float]) -> Any:
    """State of both models for joints, their rates, deflections and theirs of the arm."""
    q, v, x, y = arm
    point, shake = two.manifold(two.slow.state(q, v), inputs), _shake(two, q)
    eta, rate = x - point.deflections, y - point.rates
    return model.state(np.concatenate([q - shake @ eta, eta]), np.concatenate([v - shake @ rate, rate]))


def _shake(two: TwoTimeScale, q: FloatArray) -> FloatArray:
    """Motion of the joints by the fast motion, -M_ss⁻¹ M_sf: momentum is kept."""
    n = len(q)
    M = two.eqs.kernel("inertia")(np.concatenate([q, np.zeros(two.eqs.nq - n)]), two.eqs.p, 0.0)[0]
    shake: FloatArray = -np.asarray(np.linalg.solve(M[:n, :n], M[:n, n:]), dtype=float)
    return shake


def tip_errors(tip: FloatArray, whole: FloatArray) -> dict[str, float]:
    """RMS of the error of the tip in per cent of that of its displacement, in the plane of the arm and normal to it."""
    moved = whole - whole[0]
    parts = {"in_plane": slice(0, 2), "normal": slice(2, 3)}
    return {
        name: 100 * rms((tip - whole)[:, axes].ravel()) / rms(moved[:, axes].ravel()) for name, axes in parts.items()
    }


def study() -> Outcome:
    """Frequencies of the plates, and the tip by both models."""
    step("plates")
    plates = {kind: plate(kind).frequencies_hz for kind in ("solid", "beam")}
    step("motion")
    m = arm()
    eqs = da.equations(m, coordinates="joint").replace(payload=0.0)
    two = da.separate_scales(eqs)
    run, whole = whole_tip(eqs)
    tips = {"slow": model_tip(two, False), "slow_and_fast": model_tip(two, True)}
    results = {
        "epsilon": two.epsilon,
        "plate_hz": plates,
        "plate_error_percent": {kind: 100 * (hz[:3] / PUBLISHED_HZ - 1) for kind, hz in plates.items()},
        "elbow": {"stiffness_N_m": SPRING, "damping_N_m_s": DAMPER, "angle_rad": math.pi / 2},
        "torque": {"size_N_m": TORQUE, "switches_s": SWITCHES}, "damping_ratio": DAMPING,
        "tip_rms_error_percent": {name: tip_errors(tip, whole) for name, tip in tips.items()},
    }  # fmt: skip
    words = "The arm turns and stops, ten times slower than real."
    return Outcome(
        "An arm of two flexible plates", results, _pieces(results, run.time, whole, tips),
        {"seeds": "none: nothing is random"}, model=(m, eqs),
        moving=[Moving("arm", da.animate(run, speed=0.1, trail="tip"), words)],
    )  # fmt: skip


def _pieces(results: dict[str, Any], time: FloatArray, whole: FloatArray, tips: dict[str, FloatArray]) -> list[Piece]:
    errors = results["tip_rms_error_percent"]
    slow, both = errors["slow"], errors["slow_and_fast"]
    first = Text(
        f"Normal to the plane of the arm the tip is off by {slow['normal']:.0f} % with the slow model and by "
        f"{both['normal']:.1f} % with slow and fast models together; in the plane by {slow['in_plane']:.2g} % and "
        f"{both['in_plane']:.2g} %. The elbow is held by {SPRING:g} N m/rad and {DAMPER:g} N m s/rad; the torque of "
        f"the shoulder is {TORQUE:g} N m forward, then back, {SWITCHES[1]:g} s each."
    )
    rows = [(kind, *(f"{value:.1f}" for value in hz)) for kind, hz in results["plate_hz"].items()]
    rows.append(("Kirchhoff plate", *(f"{value:.1f}" for value in PUBLISHED_HZ), ""))
    columns = ("elements", "bending 1", "bending 2", "twist", "in its plane")
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 5.0)
        for axes, k, label in zip(
            figure.subplots(2, 1, sharex=True), (0, 2), ("in the plane, x", "normal, z"), strict=True
        ):
            axes.plot(time, 1e3 * (whole - whole[0])[:, k], color=GREY, lw=3, label="whole arm")
            axes.plot(time, 1e3 * (tips["slow"] - whole[0])[:, k], color=RED, lw=1, label="slow")
            axes.plot(time, 1e3 * (tips["slow_and_fast"] - whole[0])[:, k], color=BLUE, lw=1, label="slow and fast")
            axes.set_ylabel(f"tip {label} [mm]")
        axes.set_xlabel("time [s]")
        figure.axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return [
        first, Table(columns, tuple(rows), "Frequencies of one plate with its root clamped [Hz]"),
        Picture("tip", figure, "Displacement of the tip by the whole arm and by both models."),
    ]  # fmt: skip
