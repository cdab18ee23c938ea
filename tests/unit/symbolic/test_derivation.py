"""Derivations: numbers, conserved quantities, text, and equations that every solver takes."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.symbolic import Derivation, System, derive, kane, lagrange, lagrange_multipliers


def cart() -> System:
    s = System("cart", gravity=(0, -9.81))
    x, theta = s.coordinate("x", "m"), s.coordinate("theta", "rad", drawn=0.3)
    M, m, rod = s.parameter("M", 2.0, "kg"), s.parameter("m", 0.5, "kg"), s.parameter("l", 0.8, "m")
    F = s.input("F", "N")
    tip = (x + rod * da.sin(theta), -rod * da.cos(theta))
    s.add_particle("cart", M, (x, 0))
    s.add_particle("bob", m, tip)
    s.add_force("push", (F, 0), "cart")
    s.add_output("position", x, "m")
    s.add_output("angle", theta, "rad")
    s.add_point("cart", (x, 0))
    s.add_point("bob", tip)
    s.add_line("cart", "bob")
    return s


def top() -> System:
    s = System("top", gravity=(0, 0, -9.81))
    psi, theta, phi = s.coordinates("psi theta phi", "rad")
    turned = s.rotation("zxz", (psi, theta, phi))
    s.add_body("top", 1.5, (0.02, 0.02, 0.03), 0.4 * turned.matrix[:, 2], rotation=turned)
    s.drawn["theta"] = 0.5
    return s


def test_equations_simulate_linearize_filter_pickle_and_export(tmp_path: Any) -> None:
    eqs = da.equations(cart())
    assert (eqs.nq, eqs.nu, eqs.ny, len(eqs.parameters)) == (2, 1, 2, 3)
    copy = pickle.loads(pickle.dumps(eqs))  # noqa: S301
    assert copy.content_hash == eqs.content_hash
    run = da.simulate(eqs, 2.0, every=0.02, method=da.DormandPrince(rtol=1e-10, atol=1e-12))
    assert np.abs(run["energy"] - run["energy"][0]).max() < 1e-8 * np.ptp(run["energy.kinetic"])
    again = da.simulate(copy, 2.0, every=0.02, method=da.DormandPrince(rtol=1e-10, atol=1e-12))
    assert np.array_equal(run["theta"], again["theta"])
    lin = da.linearize(eqs, at=da.equilibrium(eqs))
    # a pendulum on a free cart: ω² = (1 + m/M) g/l
    assert lin.modes().frequencies.max() == pytest.approx(np.sqrt(1.25 * 9.81 / 0.8), rel=1e-9)
    heavier = eqs.replace(m=1.0)
    assert heavier.parameter_values != eqs.parameter_values
    ekf = da.estimate.ExtendedKalman(eqs, outputs=["position"], Q=1e-6 * np.eye(4), R=[[1e-6]], dt=0.02)
    assert ekf is not None
    assert da.animate(run, str(tmp_path / "cart.html")) is not None


def test_the_python_text_gives_the_numbers_of_the_graph() -> None:
    d = lagrange(cart())
    text = d.python()
    space: dict[str, Any] = {}
    exec(compile(text, "derived", "exec"), space)
    q, v, u, p = [0.2, 0.4], [0.3, -0.8], [1.5], [2.0, 0.5, 0.8]
    M, f = np.array(space["mass_matrix"](q, v, u, p, 0.0)), np.array(space["forces"](q, v, u, p, 0.0))
    names = ("x", "theta")
    found = d.solve(dict(zip(names, q)), dict(zip(names, v)), inputs={"F": 1.5})
    assert np.allclose(M @ found.acceleration, f, rtol=1e-13, atol=1e-13)
    assert space["kinematics"](q, v, u, p, 0.0) == v
    rows: dict[str, Any] = {}
    s = System("circle")
    x, y = s.coordinates("x y")
    s.add_particle("m", 1.0, (x, y))
    s.constrain(x**2 + y**2 - 1)
    exec(compile(lagrange_multipliers(s).python(), "derived", "exec"), rows)
    assert rows["constraint_rows"]([0.6, 0.8], [4.0, -3.0], [], [], 0.0) == ([[1.2, 1.6]], [-50.0])


def test_the_latex_of_a_pendulum_is_short_and_has_dots() -> None:
    s = System("pendulum")
    theta, m, rod = s.coordinate("theta"), s.parameter("m"), s.parameter("l")
    s.add_kinetic(m * rod**2 * s.rate(theta) ** 2 / 2)
    s.add_potential(-9.81 * m * rod * da.cos(theta))
    d = lagrange(s)
    text = d.latex()
    assert r"\ddot{\theta}" in text and r"M &= l^{2} m" in text
    assert r"f &= - 9.81 l m \sin{\left(\theta \right)}" in text
    assert d._repr_latex_().startswith("$") and d._repr_markdown_().startswith("# pendulum: Lagrange's equations")
    for title in ("## Energies", "## Lagrange's equations", "## Equations of motion", "## Conserved quantities"):
        assert title in d.markdown()


def test_a_long_derivation_is_shown_with_names_for_common_parts() -> None:
    text = kane(top()).simplify(operations=1, progress=False).latex()  # none is simplified
    assert "x_{1} &=" in text and text.count("\n") > 10


@pytest.mark.spec("003-C31")
def test_state_equations_are_those_of_the_solution() -> None:

    d = lagrange(cart())
    s = d.system
    f = ca.Function("f", [s.q, d.v, s.u, s.p], [d.state_equations])
    q, v, u, p = [0.2, 0.4], [0.3, -0.8], [1.5], [2.0, 0.5, 0.8]
    found = np.array(f(q, v, u, p))[:, 0]
    names = ("x", "theta")
    solved = d.solve(dict(zip(names, q)), dict(zip(names, v)), inputs={"F": 1.5})
    assert np.allclose(found, [*solved.acceleration, *v], rtol=1e-13, atol=0)


def test_explicit_accelerations_of_rows_are_those_of_the_solution() -> None:

    s = System("circle", gravity=(0, -9.81))
    x, y = s.coordinates("x y")
    s.add_particle("m", 2.0, (x, y))
    s.constrain(x**2 + y**2 - 1)
    d = lagrange_multipliers(s)
    f = ca.Function("f", [s.q, d.v], [d.explicit])
    found = np.array(f([0.6, 0.8], [4.0, -3.0]))[:, 0]
    solved = d.solve({"x": 0.6, "y": 0.8}, {"x": 4.0, "y": -3.0})
    assert np.allclose(found, solved.acceleration, rtol=1e-13, atol=0)


def test_cyclic_coordinates_and_energy_are_conserved_along_a_run() -> None:

    d = derive(top())
    names = {one.name for one in d.conserved}
    assert names == {"psi.momentum", "phi.momentum", "E"}  # of the heavy top: both angles about axes of symmetry
    eqs = da.equations(d)
    start = da.assemble(eqs, {"theta": 0.5}, velocity={"psi": 1.0, "theta": 0.2, "phi": 30.0})
    run = da.simulate(eqs, 1.0, start=start, every=0.05, method=da.DormandPrince(rtol=1e-11, atol=1e-12))
    s = d.system
    for one in d.conserved:
        f = ca.Function("f", [s.q, s.rates], [one.expression])
        values = [
            float(f([run[n][k] for n in s.coordinate_names], [run[f"{n}.rate"][k] for n in s.coordinate_names]))
            for k in range(len(run.time))
        ]
        assert np.ptp(values) < 1e-8 * max(np.abs(values))


def test_a_force_along_a_coordinate_ends_its_conservation() -> None:
    s = cart()
    assert {one.name for one in derive(s).conserved} == set()
    free = System("cart")
    x = free.coordinate("x")
    free.add_particle("m", 1.0, (x, 0))
    assert {one.name for one in derive(free).conserved} == {"x.momentum", "E"}


def test_operations_count_shared_parts_once() -> None:
    d = derive(cart())
    assert d.operations["all"] < d.operations["M"] + d.operations["f"]
    assert "operations" in repr(d)


def test_a_state_that_divides_by_zero_names_the_part() -> None:
    s = System("pole")
    r = s.coordinate("r")
    s.add_particle("m", 1.0, (r, 0))
    s.add_potential(-1 / r)
    with pytest.raises(ModelError) as caught:
        derive(s).solve({"r": 0.0})
    assert (caught.value.code, caught.value.where["part"]) == ("not-finite", "f")


def test_an_unknown_coordinate_of_a_state_is_named() -> None:
    with pytest.raises(ModelError) as caught:
        derive(cart()).solve({"y": 1.0})
    assert caught.value.code == "unknown-name"


def test_speeds_that_are_no_rates_are_the_speeds_of_the_equations() -> None:
    s = System("free body")
    angles = s.coordinates("phi theta psi", "rad")
    turned = s.rotation("zyx", angles[::-1])
    s.add_body("body", 5.0, (2.0, 3.0, 4.0), (0, 0, 0), rotation=turned)
    for k, name in enumerate(("wx", "wy", "wz")):
        s.speed(name, turned.omega[k], "rad/s")
    d = kane(s)
    assert isinstance(d, Derivation) and d.names == ("wx", "wy", "wz")
    eqs = da.equations(s)
    assert eqs.speeds.names == ("wx", "wy", "wz")
    run = da.simulate(eqs, 2.0, start=eqs.state(q=[0.1, 0.2, 0.3], v=[0.1, 0.8, 0.2]), every=0.5)
    assert run["wy"][-1] == pytest.approx(0.805932, abs=1e-5)


def test_the_energy_balance_counts_the_work_of_a_prescribed_motion() -> None:
    s = System("driven pivot", gravity=(0, -9.81))
    a = s.coordinate("a", drawn=0.3)
    s.add_particle("bob", 1.0, (0.1 * da.sin(5 * s.t) + 0.8 * da.sin(a), -0.8 * da.cos(a)))
    run = da.simulate(da.equations(s), 2.0, every=0.05)
    assert np.ptp(run["energy"]) > 0.5
    assert np.abs(run["energy.balance"]).max() < 1e-9  # a few times the tolerance of the run; 1 J without this work


def test_the_integral_of_jacobi_is_not_named_an_energy_and_is_simplified_too() -> None:
    s = System("hoop", gravity=(0, 0, -9.81))
    a, R = s.coordinate("a", drawn=0.3), 0.5
    bead = (R * da.sin(a) * da.cos(6 * s.t), R * da.sin(a) * da.sin(6 * s.t), -R * da.cos(a))
    s.add_particle("bead", 1.0, bead)
    (one,) = lagrange(s).conserved
    assert one.name == "h" and "Jacobi" in one.reason
    text = lagrange(s).markdown().partition("Conserved")[2]
    assert "h = " in text and "6 t" not in text


def test_names_of_common_parts_are_not_those_of_symbols() -> None:
    s = System("three", check_units=False)
    x = [s.coordinate(f"x_{k}") for k in (1, 2, 3)]
    for k in range(3):
        s.add_particle(f"P{k}", 1.0, (x[k], da.sin(x[k]) * da.cos(x[k - 1])))
    text = lagrange(s).simplify(operations=1, progress=False).latex()
    assert "s_{1} &= " in text and "x_{1} &= " not in text


# ---- edges of thresholds
