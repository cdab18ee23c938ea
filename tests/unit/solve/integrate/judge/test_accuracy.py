"""Runs that cannot be trusted are announced: energy that is off, steps beyond the stability of their method."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as da
from dalembert.errors import ConvergenceError, SimulationWarning
from dalembert.solve.integrate.judge.accuracy import find_fastest_rate
from tests.helpers.findings import found_in, raises, warns


def oscillator(stiffness: float, damping: float = 0.0) -> tuple[da.EquationsOfMotion, Any]:
    """A mass of 1 kg on a spring, and a pendulum beside it."""
    m = da.Mechanism("oscillator", planar=True)
    mass, rod = m.add_body("mass", mass=1.0, inertia=1.0), m.add_body("rod", mass=1.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), mass.at(0, 0), axis=(1, 0))
    m.add_spring("spring", joint="rail", stiffness=stiffness, damping=damping)
    m.add_revolute("pin", m.ground.at(0, 1), rod.at(-0.5, 0))
    eqs = da.equations(m)
    return eqs, da.assemble(eqs, {"rail": 0.01, "pin.angle": 0.3})


def bouncing() -> tuple[da.EquationsOfMotion, Any]:
    m = da.Mechanism("bouncer", planar=True)
    ball = m.add_body("ball", mass=1.0, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), ball.at(0, 0), axis=(0, 1))
    m.add_stop("floor", joint="rail", lower=0.0, stiffness=1e5)
    eqs = da.equations(m)
    return eqs, da.assemble(eqs, {"rail": 1.0})


def height(t: Any) -> Any:
    """The ball without loss: parabolas of 9.81 m/s², and parts of a vibration about -g/k."""
    g, w = 9.81, np.sqrt(1e5)
    v = np.sqrt(2 * g)

    def below(s: Any) -> Any:
        return -g / w**2 * (1 - np.cos(w * s)) - v / w * np.sin(w * s)

    flight, contact = 2 * v / g, brentq(below, 0.5 * np.pi / w, 1.5 * np.pi / w)
    s = (t + flight / 2) % (flight + contact)
    return np.where(s < flight, v * s - g * s**2 / 2, below(s - flight))


def test_the_fastest_rate_is_that_of_the_spring() -> None:
    for stiffness, damping, rate in ((1e6, 0.0, 1e3), (0.0, 1e4, 1e4)):
        _, start = oscillator(stiffness, damping)
        assert find_fastest_rate(start, np.zeros(0)) == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize(("stiffness", "damping"), [(1e6, 0.0), (1.0, 2e4)])
def test_rk4_beyond_its_stability_blames_the_step(stiffness: float, damping: float) -> None:
    """Just below the longest step that the message names the run is stable, and just above it is not."""
    eqs, start = oscillator(stiffness, damping)
    with raises(ConvergenceError, "unstable-step", "0.01 s", "da.Rosenbrock") as caught:
        da.simulate(eqs, 5.0, start=start, method=da.RK4(step=0.01), every=0.1)
    assert caught.value.where["time"] > 0.0
    longest = caught.value.finding.evidence["longest"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # a vibration at the limit loses its energy
        run = da.simulate(eqs, 1.0, start=start, method=da.RK4(step=0.9 * longest), every=0.1)
    assert np.abs(run["rail.displacement"]).max() < 1.0
    with raises(ConvergenceError, "unstable-step"):
        da.simulate(eqs, 5.0, start=start, method=da.RK4(step=1.3 * longest), every=0.1)


@pytest.mark.parametrize(
    ("method", "until", "wrong"),
    [
        (da.RK4(step=1e-3), 10.0, 1e-2),
        (da.GeneralizedAlpha(step=1e-3), 10.0, 1e-2),
        (da.DormandPrince(), 1000.0, 1e-2),
        (da.Sundials(solver="idas"), 100.0, 1e-4),
    ],
)
def test_a_run_whose_energy_is_off_is_announced_with_the_size_of_the_error(
    method: Any, until: float, wrong: float
) -> None:
    """At a hard stop without damping the exact motion is known: its error is half the share times the path."""
    eqs, start = bouncing()
    with warns(SimulationWarning, "energy-drift", "'bouncer'") as caught:
        run = da.simulate(eqs, until, start=start, method=method, every=until / 2000)
    (finding,) = found_in(caught, "energy-drift")
    assert caught[0].filename == __file__
    error = np.abs(run["rail.displacement"] - height(run.time)).max()
    path = until * np.mean(np.abs(run["rail.speed"]))
    assert error > wrong and 0.02 < error / min(0.5 * finding.evidence["share"] * path, 1.0) < 20.0


@pytest.mark.parametrize(
    "method", [None, da.RK4(step=1e-4), da.Rosenbrock(), da.Sundials(), da.GeneralizedAlpha(step=1e-4)]
)
def test_an_accurate_run_is_not_announced(method: Any) -> None:
    eqs, start = oscillator(100.0)
    da.simulate(eqs, 1.0, start=start, method=method, every=0.1)  # a warning would be an error


def test_a_run_that_moves_next_to_nothing_is_not_announced() -> None:
    """4e-6 of the energy that moves, 4e-10 rad: the tolerances of the method are 1e-8 of an angle."""
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=0.1)
    m.add_revolute("pin", m.ground.at(0, 1), rod.at(-0.5, 0))
    eqs = da.equations(m)
    run = da.simulate(eqs, 0.01, start=da.assemble(eqs, {"pin.angle": 0.3}), method=da.Sundials(), every=0.002)
    assert np.abs(run["energy.balance"]).max() > 1e-6 * run["energy.kinetic"].max()


def test_a_machine_at_rest_is_not_announced() -> None:
    eqs, _ = oscillator(100.0)
    rest = da.equilibrium(eqs, guess={"pin.angle": -1.5})
    da.simulate(eqs, 1.0, start=rest, every=0.1)


# -- sampled loops and lanes -------------------------------------------------------------------------------------------
def pushed() -> da.EquationsOfMotion:
    """The ball above its hard stop, with a force that a law may drive."""
    m = da.Mechanism("bouncer", planar=True)
    ball = m.add_body("ball", mass=m.parameter("mass", 1.0), inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), ball.at(0, 0), axis=(0, 1))
    m.add_stop("floor", joint="rail", lower=0.0, stiffness=1e5)
    m.add_actuator("motor", joint="rail", input="force")
    return da.equations(m)


LAW = da.control.custom_law("hover", lambda s: 0.5 - 0.0 * s["rail.displacement"], "force", dt=0.01)


def test_a_sampled_loop_is_announced_as_the_open_run_with_its_input() -> None:
    """The law holds a constant force: both runs take the same steps."""
    eqs, findings = pushed(), []
    for options in ({"controller": LAW}, {"inputs": {"force": 0.5}}):
        with warns(SimulationWarning, "energy-drift", "'bouncer'") as caught:
            da.simulate(
                eqs, 2.0, start=da.assemble(eqs, {"rail": 1.0}), method=da.RK4(step=1e-3), every=0.01, **options
            )
        findings += found_in(caught, "energy-drift")
        assert caught[0].filename == __file__
    loop, alone = findings
    assert loop.evidence["share"] == pytest.approx(alone.evidence["share"], rel=1e-6)


@pytest.mark.parametrize("options", [{}, {"controller": LAW}], ids=["open", "loop"])
def test_runs_in_lanes_are_announced_once_with_the_worst_point(options: Any) -> None:
    eqs = pushed()
    masses = [1.0, 0.5, 2.0]
    trial = da.sweeps.Simulation(
        eqs, 2.0, {"y": "rail.displacement"}, start={"rail": 1.0}, method=da.RK4(step=1e-3), every=0.01, **options
    )
    assert trial.goes_together(("mass",))
    with warns(SimulationWarning, "energy-drift", "3 of 3") as caught:
        da.sweep(trial, da.sweeps.Grid({"mass": masses}))
    (finding,) = found_in(caught, "energy-drift")
    shares = []
    for mass in masses:
        with warns(SimulationWarning, "energy-drift") as single:
            own = eqs.replace(mass=mass)
            da.simulate(
                own, 2.0, start=da.assemble(own, {"rail": 1.0}), method=da.RK4(step=1e-3), every=0.01, **options
            )
        shares += [one.evidence["share"] for one in found_in(single, "energy-drift")]
    assert finding.where["point"] == int(np.argmax(shares))
    assert finding.evidence["share"] == pytest.approx(max(shares), rel=1e-6)


def test_accurate_loops_are_not_announced_whatever_noise_adds_to_their_states() -> None:
    """Energy that noise on states brings counts as work."""
    eqs, start = oscillator(100.0)
    noise = da.Noise(process={"rail.speed": 0.1, "pin.angle": 0.05}, every=0.01, seed=1)
    run = da.simulate(eqs, 1.0, start=start, noise=noise)
    assert np.ptp(run["energy"]) > 0.1 and np.abs(run["energy.balance"]).max() < 1e-6
