"""Vibration of the three-storey rig held down by its pendulum: LQG on an identified model.

    M = B_xᵀ M̂ B_x + B₄ᵀ M₄ B₄ ,   K, R alike ,   outputs: accelerations of the floors, angle of the pendulum

sampled at 32 Hz. The force on floor 1 is measured and known to the filter, the torque on the pendulum is driven.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da
from dalembert.control import OutputFeedback, kalman_gain, lqr
from dalembert.core.arrays import FloatArray
from dalembert.studies.three_storey.rig import ACCELERATIONS, ALPHA, BETA, SAMPLING, Pendulum, with_pendulum

# Found by Pappalardo 2011 from measured data (eqs. 5.177, 5.178), force and acceleration in calibrations of their own.
M_PRINTED = np.array([[0.3871, -0.0156, 0.0011], [-0.0156, 0.2621, -0.0323], [0.0011, -0.0323, 0.3790]])
K_PRINTED = np.array([[534.061, -221.931, 25.696], [-221.931, 614.564, -432.792], [25.696, -432.792, 422.005]])
PRINTED_F = (-3.0331, -0.4309, 7.4299, 0.0584, -0.2140, -0.4318, 1.3853, -0.0068)
"""Gains of its regulator, u = F z."""
PRINTED_REDUCTION = (71.09, 74.95, 56.94, 73.59, 80.49, 70.48)
"""Of the largest x1, x2, x3, x1', x2', x3' [%], one run of Pappalardo 2011."""
RECOMPUTED_REDUCTION = (65.6, 65.6, 55.0, 71.5, 76.1, 65.2)
"""Mean of 60 seeds of an independent program."""
STATES = ("x1", "x2", "x3", "phi", "x1.rate", "x2.rate", "x3.rate", "phi.rate")
NOISE = 1e-3
"""Standard deviation added to every state and every sensor at each sample."""
SPAN, ON = 50.0, 25.0
WINDOWS = ((12.5, 25.0), (37.5, 50.0))
"""Length of a run, switch-on time of the law, and compared windows: before and after [s]."""
SEEDS = 60


@dataclass(frozen=True)
class LoopStatistics:
    """A design and its effect over many runs."""

    design: OutputFeedback
    plant: da.StateSpace
    reductions: FloatArray
    """(seeds, 6) in percent: x1, x2, x3, x1', x2', x3'."""
    record: da.Record
    """The run of the first seed."""
    quiet: FloatArray
    """(6,) without noise."""

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.reductions.mean(axis=0))

    @property
    def deviation(self) -> FloatArray:
        return np.asarray(self.reductions.std(axis=0, ddof=1))


def hinge_reading() -> Pendulum:
    """The pendulum whose stated inertia is that about the hinge, as for the printed gains."""
    stated = Pendulum()
    return Pendulum(inertia=stated.inertia - stated.mass * stated.arm**2)


def printed_structure() -> da.SecondOrder:
    """The structure as Pappalardo 2011 identified it, with proportional damping."""
    return da.SecondOrder(M_PRINTED, K_PRINTED, C=ALPHA * M_PRINTED + BETA * K_PRINTED, coordinates=STATES[:3])


def model(structure: da.SecondOrder, pendulum: Pendulum) -> da.StateSpace:
    """Structure and pendulum, sampled: states x1, x2, x3, phi and their rates."""
    named = da.SecondOrder(structure.M, structure.K, C=structure.C, coordinates=STATES[:3])
    whole = with_pendulum(named, pendulum, "x3")
    accelerations, position = np.zeros((4, 4)), np.zeros((4, 4))
    accelerations[:3, :3] = np.eye(3)
    position[3, 3] = 1.0
    outputs = [*ACCELERATIONS, "phi"]
    system = da.SecondOrder(
        whole.M, whole.K, C=whole.C, B=np.eye(4)[:, [0, 3]], Y_position=position, Y_acceleration=accelerations,
        coordinates=STATES[:4], inputs=["force", "torque"], outputs=[*ACCELERATIONS, "angle"],
        units={"force": "N", "torque": "N m", "angle": "rad"} | dict.fromkeys(outputs[:3], "m/s²"),
    )  # fmt: skip
    return system.state_space().to_discrete(SAMPLING)


def design(plant: da.StateSpace) -> OutputFeedback:
    """Weights and noise of Pappalardo 2011 (eqs. 5.217 to 5.224)."""
    Q = np.diag([1e2, 1e2, 1e2, 1e-2] * 2)
    observer = kalman_gain(plant, Q=NOISE**2, R=NOISE**2, inputs=["torque", "force"], form="predictor")
    return OutputFeedback(lqr(plant, Q=Q, R=1e-4, inputs="torque"), observer)


def force(t: Any) -> Any:
    """On floor 1 [N]: a tenth of a newton near each mode (eq. 5.208 of Pappalardo 2011, with its t put back)."""
    return 0.1 * (
        da.sin(2 * da.math.pi * 1.9 * t) + da.sin(2 * da.math.pi * 5.7 * t) + da.sin(2 * da.math.pi * 8.8 * t)
    )


def run(plant: da.StateSpace, made: OutputFeedback, seed: int | None) -> da.Record:
    """50 s of the loop, switched on half-way; without noise for seed None."""
    start = np.array([1e-3] * 4 + [1e-4] * 4)
    guess = start + np.array([1e-4] * 4 + [1e-5] * 4)
    noise = None
    if seed is not None:
        deviations = dict.fromkeys(plant.states, NOISE), dict.fromkeys(plant.outputs, NOISE)
        noise = da.Noise(process=deviations[0], sensors=deviations[1], seed=seed)
    law = made.law(start=guess, switched_on=ON)
    return da.simulate(plant, SPAN, start=start, inputs={"force": force}, controller=law, noise=noise)


def reduction(
    record: da.Record, names: tuple[str, ...] = (*STATES[:3], *STATES[4:7]), span: float = SPAN
) -> FloatArray:
    """Decrease of the largest |x_i| and |x_i'| from before to after, in percent; windows scale with the span."""
    before, after = (record.between(first * span / SPAN, last * span / SPAN) for first, last in WINDOWS)
    return np.array(list(da.control.reduction(before, after, *names).values()))


def loop(structure: da.SecondOrder, pendulum: Pendulum, seeds: int = SEEDS) -> LoopStatistics:
    """Design on a structure with its pendulum, and its effect over many seeds."""
    plant = model(structure, pendulum)
    made = design(plant)
    runs = [run(plant, made, seed) for seed in range(seeds)]
    quiet = reduction(run(plant, made, None))
    return LoopStatistics(made, plant, np.array([reduction(one) for one in runs]), runs[0], quiet)
