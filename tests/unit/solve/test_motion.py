"""What da.forward_dynamics, da.mobility and rank_report answer beyond accelerations: wanted motions, forces that are
not ideal, variants of the methods, penalty and feedback, complements, residuals along a run.

Machines are of order one: 1e-11 is rounding times their condition.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import dalembert as da
from dalembert.solve import Baumgarte, rank_report
from dalembert.solve.motion.forward import METHODS
from tests.helpers.findings import raises, warns

EXACT = [method for method in METHODS if method != "graph"]
TOLERANCE = 1e-11


def slider_crank(*, slider_inertia=0.1, coupler_mass=2.0):
    m = da.Mechanism("slider-crank", planar=True)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(0.3))
    rod = m.add_body("rod", mass=coupler_mass, inertia=da.rod(0.8) if coupler_mass else 0.0)
    slider = m.add_body("slider", mass=1.5, inertia=slider_inertia)
    m.add_revolute("O", m.ground.at(0, 0), crank.at(-0.15, 0))
    m.add_revolute("P", crank.at(0.15, 0), rod.at(-0.4, 0))
    m.add_revolute("Q", rod.at(0.4, 0), slider.at(0, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), slider.at(0, 0))
    m.add_actuator("motor", joint="O", input="torque")
    return m


@pytest.fixture(scope="module")
def moving():
    eqs = da.equations(slider_crank())
    return eqs, da.assemble(eqs, {"O.angle": 1.0}, velocity={"O.angle": 4.0}, guess={"P.angle": -1.4})


# -- wanted motions ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-16", "002-D5")
@pytest.mark.parametrize("method", EXACT)
def test_the_effort_of_a_wanted_acceleration_makes_it_happen(moving, method):
    eqs, state = moving
    wanted = da.forward_dynamics(eqs, state, accelerations={"O": 5.0}, method=method)
    assert wanted["O.rate"] == pytest.approx(5.0, abs=TOLERANCE)
    torque = wanted.efforts["O.angle"]
    driven = da.forward_dynamics(eqs, state, inputs={"torque": torque})
    assert driven["O.rate"] == pytest.approx(5.0, abs=1e-10)
    for name in wanted.reactions:
        assert wanted.reactions[name].force == pytest.approx(driven.reactions[name].force, abs=1e-10)
    assert wanted.residuals["motion"] < 1e-12 and wanted.residuals["rows"] < 1e-12
    # the force itself is a pure torque of the joint: on the crank, none on anything else
    expected = np.zeros(eqs.nv)
    expected[eqs.speeds.index["crank.rate"]] = torque
    assert wanted.control == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.spec("000-16")
def test_every_speed_of_a_free_body_takes_the_force_of_newtons_law():
    m = da.Mechanism("disc", planar=True)
    m.add_body("disc", mass=2.0, inertia=0.3)
    sol = da.forward_dynamics(da.equations(m), accelerations={"disc.x": 1.0, "disc.y": -2.0, "disc.angle": 4.0})
    efforts = {"disc.x": 2.0, "disc.y": 2.0 * (-2.0 + 9.81), "disc.angle": 1.2}
    assert sol.efforts == pytest.approx(efforts, abs=TOLERANCE)


@pytest.mark.spec("000-16")
def test_friction_that_depends_on_reactions_is_part_of_the_effort():
    """Block on a rail, push P: m a = P - mu m g, whatever the iteration took."""
    m = da.Mechanism("block", planar=True)
    block = m.add_body("block", mass=2.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), block.at(0, 0))
    m.add_friction("rub", "rail", coulomb=0.3, speed=1e-6)
    eqs = da.equations(m)
    state = da.assemble(eqs, velocity={"rail": 1.0})
    sol = da.forward_dynamics(eqs, state, accelerations={"rail": 4.0})
    assert sol.efforts["rail.displacement"] == pytest.approx(2.0 * (4.0 + 0.3 * 9.81), rel=1e-9)


# -- forces that are not ideal, and the variants ----------------------------------------------------------------------


@pytest.mark.spec("002-D5")
@pytest.mark.parametrize("method", EXACT)
def test_a_force_that_is_not_ideal_keeps_the_constraints_and_does_its_own_work(moving, method):
    eqs, state = moving
    given = {"slider.vx": -3.0, "slider.vy": 7.0, "crank.rate": 0.4}
    C = np.zeros(eqs.nv)
    for name, value in given.items():
        C[eqs.speeds.index[name]] = value
    ideal = da.forward_dynamics(eqs, state, method=method)
    sol = da.forward_dynamics(eqs, state, nonideal=given, method=method)
    assert sol.residuals["rows"] < 1e-12 and sol.residuals["motion"] < 1e-12
    S = da.mobility(eqs, state).complement
    assert S.T @ sol.force == pytest.approx(S.T @ C, abs=1e-10)  # virtual power: that of C alone
    assert S.T @ ideal.force == pytest.approx(np.zeros(1), abs=1e-10)
    # the part of C that the joints let through, of the closed form
    (M,) = eqs.kernel("inertia")(state.q, eqs.p, state.t)
    A, _ = eqs.kernel("rows")(state.q, state.v, state.z, [0.0], eqs.p, state.t)
    root = np.linalg.cholesky(np.linalg.inv(M))
    Ac = A @ root
    moved = root @ (np.eye(eqs.nv) - np.linalg.pinv(Ac) @ Ac) @ root.T @ C
    assert sol.acceleration - ideal.acceleration == pytest.approx(moved, abs=1e-9)
    assert abs(sol["O.rate"] - ideal["O.rate"]) > 0.1


@pytest.mark.spec("002-D5", "000-14")
def test_a_weightless_coupler_gives_the_same_motion_for_every_alpha_and_by_the_stacked_form():
    eqs = da.equations(slider_crank(coupler_mass=0.0))
    state = da.assemble(eqs, {"O.angle": 1.0}, velocity={"O.angle": 4.0}, guess={"P.angle": -1.4})
    reference = da.forward_dynamics(eqs, state, method="kkt")
    for options in ({"alpha": 0.3}, {"alpha": 30.0}, {"method": "udwadia_phohomsiri"}):
        sol = da.forward_dynamics(eqs, state, **options)
        assert sol.acceleration == pytest.approx(reference.acceleration, abs=1e-8)
        assert sol.reactions["Q"].force == pytest.approx(reference.reactions["Q"].force, abs=1e-8)


# -- complements ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("002-A11")
@pytest.mark.parametrize("basis", ["svd", "qr", "partition"])
def test_every_complement_spans_the_motions_the_joints_allow_and_gives_the_same_accelerations(moving, basis):
    eqs, state = moving
    S = da.mobility(eqs, state, basis=basis).complement
    assert S.shape == (9, 1)
    v = S[:, 0] * state["O.rate"] / S[eqs.speeds.index["crank.rate"], 0]
    assert v == pytest.approx(state.v, abs=TOLERANCE)
    sol = da.forward_dynamics(eqs, state, method="null_space", basis=basis)
    assert sol.acceleration == pytest.approx(da.forward_dynamics(eqs, state, method="kkt").acceleration, abs=1e-10)


@pytest.mark.spec("002-A11")
def test_chosen_independent_speeds_are_the_parameters_of_the_motion_in_their_order():
    m = da.Mechanism("carts", planar=True, gravity=0)
    cart, pole = m.add_body("cart", mass=1.0, inertia=1.0), m.add_body("pole", mass=1.0, inertia=0.2)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("hinge", cart.at(0, 0), pole.at(0, 0.5))
    eqs = da.equations(m)
    state = da.assemble(eqs, {"hinge": 0.3})
    found = da.mobility(eqs, state, independent=["pole.rate", "cart.vx"])
    assert found.independent == ("pole.rate", "cart.vx")
    index = eqs.speeds.index
    # the pole's centre hangs 0.5 m below: vx = cart.vx + 0.5 cos(0.3) rate, vy = 0.5 sin(0.3) rate
    expected = {"pole.rate": (1, 0), "cart.vx": (0, 1), "pole.vx": (0.5 * np.cos(0.3), 1),
                "pole.vy": (0.5 * np.sin(0.3), 0), "cart.vy": (0, 0), "cart.rate": (0, 0)}  # fmt: skip
    for name, row in expected.items():
        assert found.complement[index[name]] == pytest.approx(row, abs=1e-12), name
    sol = da.forward_dynamics(eqs, state, method="null_space", independent=["pole.rate", "cart.vx"])
    assert sol.acceleration == pytest.approx(da.forward_dynamics(eqs, state, method="kkt").acceleration, abs=TOLERANCE)


@pytest.mark.spec("002-A11")
def test_independent_speeds_that_do_not_decide_the_others_are_refused_by_name(moving):
    eqs, state = moving
    with raises(da.errors.ModelError, "dependent-coordinates", "1", "2"):
        da.mobility(eqs, state, independent=["crank.rate", "rod.rate"])
    with raises(da.errors.ModelError, "dependent-coordinates", "'slider.vy'"):
        da.forward_dynamics(eqs, state, method="null_space", independent=["slider.vy"])
    with raises(da.errors.ModelError, "unknown-name", "'crank.rate'"):
        da.mobility(eqs, state, independent=["crank.rat"])
    with raises(da.errors.ModelError, "unknown-choice", "'guess'"):
        da.mobility(eqs, state, basis="guess")
    dead = da.assemble(eqs, {"O.angle": 0.0}, guess={"P.angle": 0.0})  # stretched: the slider decides nothing
    with raises(da.errors.ModelError, "dependent-coordinates"):
        da.mobility(eqs, dead, independent=["slider.vx"])
    assert da.mobility(eqs, dead).independent != ("slider.vx",)


# -- penalty and feedback ---------------------------------------------------------------------------------------------


@pytest.mark.spec("002-C7")
def test_the_error_of_the_penalty_method_is_the_reciprocal_of_its_penalty(moving):
    eqs, state = moving
    exact = da.forward_dynamics(eqs, state, method="augmented_lagrangian")
    errors = []
    for penalty in (1e3, 1e4, 1e5):
        sol = da.forward_dynamics(eqs, state, method="penalty", stabilise=Baumgarte(penalty=penalty))
        errors.append(np.abs(sol.acceleration - exact.acceleration).max())
        assert sol.residuals["motion"] < 1e-9  # a force balance all the same
        assert 1e-3 / penalty < sol.residuals["rows"] < 10 / penalty
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(10.0, rel=0.05)


@pytest.mark.spec("002-C7", "002-G6")
@pytest.mark.parametrize("method", [*METHODS, "penalty"])
def test_feedback_of_gaps_and_slips_is_part_of_every_method(method):
    """Pendulum on a rod of length l, found open by g and opening at s: the rod pulls back with 2 mu w s + w^2 g."""
    m = da.Mechanism("bob", planar=True, gravity=0)
    bob = m.add_body("bob", mass=2.0, inertia=1.0)
    m.add_massless_rod("string", m.ground.at(0, 0), bob.at(0, 0), length=1.5)
    eqs = da.equations(m)
    open_state = eqs.state([1.51, 0.0, 0.0], [0.2, 0.0, 0.0])
    sol = da.forward_dynamics(eqs, open_state, method=method, stabilise=Baumgarte(0.7, 5.0, penalty=1e9))
    stretched = eqs.kernel("position")(open_state.q, eqs.p, 0.0)[0][0]
    rate = eqs.kernel("rates")(open_state.q, open_state.v, eqs.p, 0.0)[0][0]
    A, b = eqs.kernel("rows")(open_state.q, open_state.v, [], [], eqs.p, 0.0)
    assert A[0] @ sol.acceleration - b[0] == pytest.approx(-2 * 0.7 * 5.0 * rate - 25.0 * stretched, rel=1e-7)
    assert sol["bob.vx"] < -1.0


@pytest.mark.spec("002-C7")
def test_a_run_by_penalty_stays_near_the_joints_and_nearer_with_a_larger_penalty(moving):
    eqs, start = moving
    exact = da.simulate(eqs, 0.3, start=start, method=da.RK4(1e-3), every=0.01)
    gaps, errors = [], []
    for penalty in (1e3, 1e5):
        method = da.RK4(1e-3, stabilise=Baumgarte(1.0, 10.0, penalty=penalty))
        with warns(da.errors.SimulationWarning, "energy-drift") if penalty == 1e3 else nullcontext():
            run = da.simulate(eqs, 0.3, start=start, method=method, every=0.01)
        gaps.append(run["residual.position"].max())
        errors.append(np.abs(run["O.angle"] - exact["O.angle"]).max())
    # λ / α stays open at acceleration level: loads of some 30 N, w^2 = 100
    assert 1e-7 < gaps[1] < 0.02 * gaps[0] < 2e-4
    assert errors[1] < 0.02 * errors[0] < 0.02
    with raises(da.errors.DataError, "not-positive"):
        Baumgarte(penalty=-1.0)


# -- residuals along a run --------------------------------------------------------------------------------------------


@pytest.mark.spec("002-G2")
def test_residuals_at_acceleration_level_distinguish_a_penalty_run_from_an_exact_one(moving):
    eqs, start = moving
    found = {}
    for name, stabilise in (("exact", None), ("penalty", Baumgarte(1.0, 10.0, penalty=1e4))):
        run = da.simulate(eqs, 0.1, start=start, method=da.RK4(1e-3, stabilise=stabilise), every=0.01)
        found[name] = rank_report(eqs, run)
    exact, loose = found["exact"], found["penalty"]
    assert exact["residual.acceleration"].max() < 1e-9 and exact["residual.force"].max() < 1e-9
    # what the penalty leaves open is its force over its weight; the motion itself still balances
    assert 1e-4 < loose["residual.acceleration"].max() < 1.0
    assert loose["residual.force"].max() < 1e-9
    combined = np.hypot(loose["residual.acceleration"], loose["residual.force"])
    assert loose["residual.combined"] == pytest.approx(combined, rel=1e-12)
    # a motion that is not one of the machine: accelerations 1 % off
    run = da.simulate(eqs, 0.1, start=start, method=da.RK4(1e-3), every=0.01)
    wrong = da.Record.from_channels(
        run.time, {n: run[n] * (1.01 if n in ("rod.ax", "crank.acceleration") else 1.0) for n in run.names}, {}
    )
    report = rank_report(eqs, wrong)
    assert report["residual.acceleration"].max() > 1e-2 and report["residual.force"].max() > 1e-3
    bare = rank_report(eqs, run.select(*(n for n in run.names if n != "rod.ax")))
    assert "residual.acceleration" not in bare.names and "rank" in bare.names


def test_options_of_another_method_are_refused(moving):
    eqs, state = moving
    with raises(da.errors.ModelError, "conflicting-arguments", "'udwadia_kalaba'"):
        da.forward_dynamics(eqs, state, method="kkt", alpha=2.0)
    with raises(da.errors.ModelError, "conflicting-arguments", "'null_space'"):
        da.forward_dynamics(eqs, state, basis="qr")
    with raises(da.errors.ModelError, "conflicting-arguments"):
        da.forward_dynamics(eqs, state, method="graph", nonideal={"crank.rate": 1.0})
    with raises(da.errors.ModelError, "unknown-name", "'crank.rat'"):
        da.forward_dynamics(eqs, state, nonideal={"crank.rat": 1.0})
    with raises(da.errors.DataError, "not-finite"):
        da.forward_dynamics(eqs, state, nonideal={"crank.rate": float("nan")})
