"""Forward dynamics: the kernels on plain matrices, and accelerations and reactions of machines.

Tolerance ROUNDING = 1e-12 on well-conditioned matrices of order one and size below ten: rounding is about
condition number (below 1e3 here) times 1e-16, times a few operations.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.solve import matrices as mx
from dalembert.solve.forward import METHODS, system_at

ROUNDING = 1e-12


def problem(seed=0, n=6, m=3, rank=None):
    """Random symmetric positive M (of the given rank), f, A, b."""
    random = np.random.default_rng(seed)
    G = random.normal(size=(n, n if rank is None else rank))
    M = G @ G.T + (0.5 * np.eye(n) if rank is None else 0.0)
    return M, random.normal(size=n), random.normal(size=(m, n)), random.normal(size=m)


def direct(M, f, A, b):
    """(v̇, λ) of the saddle system by one dense solve, written out here."""
    m = len(b)
    x = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((m, m))]]), np.concatenate((f, b)))
    return x[: len(f)], x[len(f) :]


# -- Udwadia-Kalaba ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-11", "000-12", "002-C5", "002-D5")
@pytest.mark.parametrize("seed", range(5))
def test_udwadia_kalaba_solves_the_saddle_system(seed):
    M, f, A, b = problem(seed)
    acceleration, lam = direct(M, f, A, b)
    uk = mx.udwadia_kalaba(M, f, A, b)
    assert np.allclose(uk.acceleration, acceleration, rtol=0, atol=ROUNDING * np.abs(acceleration).max())
    assert np.allclose(uk.lam, lam, rtol=0, atol=ROUNDING * np.abs(lam).max())
    assert np.allclose(mx.kkt(M, f, A, b)[0], acceleration, rtol=0, atol=ROUNDING * np.abs(acceleration).max())


@pytest.mark.spec("000-11")
def test_the_block_inverse_of_the_saddle_system_is_the_same_solution():
    M, f, A, b = problem()
    Mi = np.linalg.inv(M)
    B1, B2, H = -Mi @ A.T, A @ Mi, np.linalg.inv(A @ Mi @ A.T)
    acceleration, lam = mx.kkt(M, f, A, b)
    assert np.allclose(acceleration, (Mi + B1 @ H @ B2) @ f - B1 @ H @ b, atol=1e-11)
    assert np.allclose(lam, -H @ B2 @ f + H @ b, atol=1e-11)


@pytest.mark.spec("000-12")
def test_udwadia_kalaba_returns_every_term_of_its_equations():
    M, f, A, b = problem()
    uk = mx.udwadia_kalaba(M, f, A, b)
    H = np.linalg.inv(A @ np.linalg.inv(M) @ A.T)
    assert np.allclose(uk.free, np.linalg.solve(M, f), atol=1e-11)
    assert np.allclose(uk.violation, b - A @ uk.free, atol=1e-11)
    assert np.allclose(uk.lam, H @ uk.violation, atol=1e-11)
    assert np.allclose(uk.force, A.T @ uk.lam, atol=1e-11)
    assert np.allclose(uk.correction, np.linalg.solve(M, A.T) @ H @ uk.violation, atol=1e-11)
    assert np.allclose(uk.acceleration, uk.free + uk.correction, atol=1e-11)


@pytest.mark.spec("000-13", "002-D5", "003-C32")
def test_a_dependent_row_changes_no_acceleration():
    M, f, A, b = problem()
    weights = np.array([0.3, -2.0, 1.0])
    more, right = np.vstack((A, weights @ A)), np.append(b, weights @ b)
    once, twice = mx.udwadia_kalaba(M, f, A, b), mx.udwadia_kalaba(M, f, more, right)
    assert twice.rank == 3
    assert np.allclose(twice.acceleration, once.acceleration, rtol=0, atol=10 * ROUNDING)
    assert np.allclose(twice.force, once.force, rtol=0, atol=10 * ROUNDING)
    for method in (mx.kkt, mx.null_space, mx.augmented_lagrangian):
        acceleration, lam = method(M, f, more, right)
        assert np.allclose(acceleration, once.acceleration, rtol=0, atol=1e-10)
        assert np.allclose(lam, twice.lam, rtol=0, atol=1e-9)  # all return the multipliers of minimum norm


@pytest.mark.spec("000-13")
def test_inconsistent_rows_leave_the_least_squares_residual():
    M, f, A, b = problem()
    more = np.vstack((A, A[0] + A[1]))
    right = np.append(b, b[0] + b[1] + 0.7)
    expected = -(np.eye(4) - more @ np.linalg.pinv(more)) @ right
    for acceleration in (
        mx.udwadia_kalaba(M, f, more, right).acceleration,
        mx.null_space(M, f, more, right)[0],
        mx.udwadia_phohomsiri(M, f, more, right),
    ):
        assert np.allclose(more @ acceleration - right, expected, rtol=0, atol=1e-11)


@pytest.mark.spec("000-13")
def test_all_multipliers_of_the_general_form_push_alike():
    M, f, A, b = problem()
    more, right = np.vstack((A, A[0] - A[2])), np.append(b, b[0] - b[2])
    uk = mx.udwadia_kalaba(M, f, more, right)
    arbitrary = np.array([1.0, -2.0, 3.0, 5.0])
    other = mx.multipliers(more, uk.lam, arbitrary)
    assert np.linalg.norm(other - uk.lam) > 0.1
    assert np.allclose(more.T @ other, uk.force, rtol=0, atol=1e-11)
    assert np.linalg.norm(uk.lam) < np.linalg.norm(other)  # the one returned is the shortest


@pytest.mark.spec("000-13")
def test_the_rank_tolerance_is_relative():
    M, f, A, b = problem()
    nearly = np.vstack((A, A[0] + 1e-13))
    assert mx.udwadia_kalaba(M, f, nearly, np.append(b, b[0])).rank == 3
    scaled = mx.udwadia_kalaba(1e-9 * M, 1e-9 * f, 1e-7 * A, 1e-7 * b)
    assert scaled.rank == 3
    assert np.allclose(scaled.acceleration, mx.udwadia_kalaba(M, f, A, b).acceleration, rtol=0, atol=1e-11)


@pytest.mark.spec("000-14", "002-D5", "002-G1")
@pytest.mark.parametrize("seed", range(5))
def test_a_singular_mass_matrix_gives_the_answer_of_the_saddle_system(seed):
    M, f, A, b = problem(seed, rank=4)
    acceleration, lam = direct(M, f, A, b)
    size = np.abs(acceleration).max()
    for alpha in (1.0, 0.1, 10.0):
        uk = mx.udwadia_kalaba(M, f, A, b, alpha=alpha)
        assert np.allclose(uk.acceleration, acceleration, rtol=0, atol=1e-9 * size)  # condition numbers up to 1e5
        assert np.allclose(uk.lam, lam, rtol=0, atol=1e-9 * np.abs(lam).max())
    assert np.allclose(mx.udwadia_phohomsiri(M, f, A, b), acceleration, rtol=0, atol=1e-9 * size)
    assert np.allclose(mx.projected(M, f, A, b), acceleration, rtol=0, atol=1e-9 * size)
    assert np.allclose(mx.null_space(M, f, A, b)[0], acceleration, rtol=0, atol=1e-9 * size)
    assert np.allclose(mx.augmented_lagrangian(M, f, A, b)[0], acceleration, rtol=0, atol=1e-8 * size)


@pytest.mark.spec("000-14")
def test_the_heavier_mass_matrix_is_the_one_of_the_source():
    M, f, A, b = problem(rank=4)
    heavy, force = mx.heavier(M, f, A, b)
    assert np.allclose(heavy, M + np.linalg.pinv(A) @ A, atol=ROUNDING)
    assert np.allclose(force, f + np.linalg.pinv(A) @ b, atol=ROUNDING)
    assert np.linalg.matrix_rank(M) == 4 and np.linalg.matrix_rank(heavy) == 6


@pytest.mark.spec("002-D5")
def test_a_non_ideal_force_does_its_own_virtual_work_and_keeps_the_constraints():
    M, f, A, b = problem()
    C = np.random.default_rng(9).normal(size=6)
    uk = mx.udwadia_kalaba(M, f, A, b, nonideal=C)
    assert np.allclose(A @ uk.acceleration, b, atol=1e-11)
    assert np.allclose(M @ uk.acceleration, f + uk.force, atol=1e-11)
    S = mx.complement(A)
    assert np.allclose(S.T @ uk.force, S.T @ C, atol=1e-11)  # virtual power of all constraint forces is that of C
    assert np.allclose(mx.udwadia_phohomsiri(M, f, A, b, nonideal=C), uk.acceleration, atol=1e-10)
    root = np.linalg.cholesky(M)
    Ac = A @ np.linalg.inv(root).T
    inner = np.linalg.inv(root).T @ (np.eye(6) - np.linalg.pinv(Ac) @ Ac) @ np.linalg.inv(root) @ C
    assert np.allclose(uk.acceleration, mx.udwadia_kalaba(M, f, A, b).acceleration + inner, atol=1e-10)


@pytest.mark.spec("000-15")
def test_motion_without_mass_is_refused_by_name():
    M = np.diag([1.0, 0.0, 2.0])
    with pytest.raises(da.ModelError, match=r"'slider\.vy'"):
        mx.realizability(M, np.array([[1.0, 0.0, 1.0]]), ["slider.vx", "slider.vy", "slider.rate"])
    assert mx.realizability(M, np.array([[0.0, 1.0, 1.0]])) > 0.1


@pytest.mark.spec("000-15")
def test_a_body_without_inertia_that_nothing_holds_is_refused_by_name():
    m = da.Mechanism("loose", planar=True)
    bob = m.add_body("bob", mass=1.0, inertia=0.0)
    m.add_rod("string", m.ground.at(0, 0), bob.at(0, 0), length=1.0)
    eqs = da.equations(m)
    state = da.assemble(eqs, {"bob.x": 1.0})
    with pytest.raises(da.ModelError, match=r"bob\.rate"):
        da.forward_dynamics(eqs, state)


@pytest.mark.spec("000-16", "002-D5")
def test_the_force_of_a_desired_behaviour_makes_it_happen():
    M, f, A, b = problem()
    force = mx.constraint_force(M, f, A, b)
    assert np.allclose(A @ np.linalg.solve(M, f + force), b, atol=1e-11)


@pytest.mark.spec("000-16")
def test_a_desired_behaviour_of_a_jointed_machine_needs_only_its_own_force():
    M, f, A, b = problem(m=2)
    _, _, wish, value = problem(seed=3, m=1)
    force = mx.constraint_force(M, f, wish, value, held=(A, b))
    acceleration, _ = direct(M, f + force, A, b)  # the joints do the rest
    assert np.allclose(wish @ acceleration, value, atol=1e-10)
    assert np.linalg.matrix_rank(np.column_stack((force, wish[0]))) == 1


# -- complements and penalty ------------------------------------------------------------------------------------------


@pytest.mark.spec("002-A11")
@pytest.mark.parametrize("method", ["svd", "qr", "partition"])
def test_a_complement_spans_the_null_space(method):
    _, _, A, _ = problem()
    more = np.vstack((A, A[0] + A[1]))
    S = mx.complement(more, method)
    assert S.shape == (6, 3) and np.linalg.matrix_rank(S) == 3
    assert np.abs(more @ S).max() < ROUNDING


@pytest.mark.spec("002-A11")
def test_a_partition_has_the_chosen_speeds_as_parameters():
    _, _, A, _ = problem()
    S = mx.complement(A, "partition", independent=[0, 2, 5])
    assert np.array_equal(S[[0, 2, 5]], np.eye(3))
    assert np.allclose(S[[1, 3, 4]], -np.linalg.solve(A[:, [1, 3, 4]], A[:, [0, 2, 5]]), atol=ROUNDING)
    M, f, A, b = problem()
    assert np.allclose(mx.null_space(M, f, A, b, method="partition")[0], direct(M, f, A, b)[0], atol=1e-10)


@pytest.mark.spec("002-A11")
def test_wrong_independent_speeds_are_refused():
    _, _, A, _ = problem()
    with pytest.raises(da.ModelError, match="3 independent speeds are needed"):
        mx.complement(A, "partition", independent=[0, 1])
    with pytest.raises(da.ModelError, match="unknown method"):
        mx.complement(A, "guess")
    with pytest.raises(da.ModelError, match="do not decide the others"):
        mx.complement(np.array([[1.0, 0.0, 0.0]]), "partition", independent=[0, 1])


@pytest.mark.spec("002-A11")
def test_independent_speeds_switch_with_the_chart():
    # a point on the circle x² + y² = 1 has the row (x, y): near (1, 0) y is independent, near (0, 1) x is
    assert mx.independent_columns(np.array([[1.0, 0.01]]))[0] == [1]
    assert mx.independent_columns(np.array([[0.01, 1.0]]))[0] == [0]


@pytest.mark.spec("002-A7")
def test_dependent_rows_are_found_and_removed():
    _, _, A, _ = problem()
    more = np.vstack((A, 2 * A[1] - A[0]))
    kept, repeated = mx.independent_rows(more)
    assert len(kept) == 3 and len(repeated) == 1
    assert np.linalg.matrix_rank(more[kept]) == 3
    assert mx.independent_rows(np.zeros((0, 4))) == ([], [])


@pytest.mark.spec("002-C7")
def test_the_augmented_lagrangian_converges_for_any_sensible_penalty():
    M, f, A, b = problem()
    acceleration, lam = direct(M, f, A, b)
    for penalty in (1e2, 1e4, 1e9):
        found, multipliers = mx.augmented_lagrangian(M, f, A, b, penalty=penalty)
        assert np.allclose(found, acceleration, rtol=0, atol=1e-9)
        assert np.allclose(multipliers, lam, rtol=0, atol=1e-8)


@pytest.mark.spec("002-C7")
def test_the_augmented_lagrangian_says_when_it_does_not_settle():
    M, f, A, b = problem()
    with pytest.raises(da.ConvergenceError, match="did not settle"):
        mx.augmented_lagrangian(M, f, A, b, penalty=1e-3, iterations=5)


@pytest.mark.spec("002-C7")
def test_one_pass_with_a_large_penalty_is_the_penalty_method():
    M, f, A, b = problem()
    _, r = mx.scales(M, A)
    weight = 1e6 * np.diag(r**2)
    penalty = np.linalg.solve(M + A.T @ weight @ A, f + A.T @ weight @ b)
    assert np.abs(A @ penalty - b).max() < 1e-4  # the error of a penalty is its reciprocal
    exact = mx.augmented_lagrangian(M, f, A, b, penalty=1e6)[0]
    assert np.abs(penalty - exact).max() < 1e-4
    assert np.abs(A @ exact - b).max() < 1e-11  # the multipliers remove it


# -- machines ---------------------------------------------------------------------------------------------------------


def string_pendulum(angle, rate, mass=2.0, length=1.5):
    """A point mass on a massless string, hanging along -y; its angle from there."""
    m = da.Mechanism("string pendulum", planar=True)
    bob = m.add_body("bob", mass=mass, inertia=1.0)
    m.add_rod("string", m.ground.at(0, 0), bob.at(0, 0), length=length)
    eqs = da.equations(m)
    q = [length * np.sin(angle), -length * np.cos(angle), 0.0]
    return eqs, eqs.state(q, [length * rate * np.cos(angle), length * rate * np.sin(angle), 0.0])


@pytest.mark.spec("000-12", "003-C32", "003-C33", "003-E3")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("angle, rate", [(1.0, 0.0), (0.3, 2.0), (-2.5, 1.0)])
def test_a_pendulum_in_cartesian_coordinates_has_its_acceleration_and_tension(method, angle, rate):
    mass, length, g = 2.0, 1.5, 9.81
    eqs, state = string_pendulum(angle, rate)
    sol = da.forward_dynamics(eqs, state, method=method)
    along = sol["bob.vx"] * np.cos(angle) + sol["bob.vy"] * np.sin(angle)
    assert along / length == pytest.approx(-g * np.sin(angle) / length, abs=1e-12)
    tension = mass * (g * np.cos(angle) + length * rate**2)
    assert sol.lam[0] == pytest.approx(-tension, abs=1e-11)  # the row's gradient points outwards: a pull is negative
    inwards = -np.array([np.sin(angle), -np.cos(angle)])
    assert np.allclose(sol.reactions["string"].force, tension * inwards, atol=1e-11)


def test_reactions_come_in_world_and_in_joint_axes():
    m = da.Mechanism("ramp", planar=True)
    box = m.add_body("box", mass=3.0, inertia=0.1, position=(0, 0), angle=0.5)
    m.add_prismatic("ramp", m.ground, box, at=(0, 0), axis=(np.cos(0.5), np.sin(0.5)))
    sol = da.forward_dynamics(da.equations(m))
    normal = 3.0 * 9.81 * np.cos(0.5)
    assert np.allclose(sol.reactions["ramp"].joint_force, [0.0, normal], atol=1e-11)
    assert np.allclose(sol.reactions["ramp"].force, normal * np.array([-np.sin(0.5), np.cos(0.5)]), atol=1e-11)
    assert sol["ramp.speed"] == pytest.approx(-9.81 * np.sin(0.5), abs=1e-12)
    assert sol["ramp.displacement"] == sol["ramp.speed"]
    assert sol["ramp.force.x"] == sol.reactions["ramp"].force[0]


def test_a_spatial_hinge_carries_the_weight_and_moment_of_a_cantilevered_body():
    m = da.Mechanism("door", gravity=(0, 0, -9.81))
    door = m.add_body("door", mass=4.0, inertia=da.box(0.8, 0.05, 2.0), position=(0.4, 0, 0))
    m.add_revolute("hinge", m.ground, door, at=(0, 0, 0), axis=(0, 0, 1))
    reaction = da.forward_dynamics(da.equations(m)).reactions["hinge"]
    assert np.allclose(reaction.force, [0, 0, 4.0 * 9.81], atol=1e-10)
    assert np.allclose(reaction.torque, [0, -0.4 * 4.0 * 9.81, 0], atol=1e-10)
    assert np.linalg.norm(reaction.joint_torque) == pytest.approx(np.linalg.norm(reaction.torque), abs=1e-10)
    assert reaction.unique


@pytest.mark.spec("000-14")
@pytest.mark.parametrize("method", METHODS)
def test_a_massless_coupler_moves_with_what_it_joins(method):
    m = da.Mechanism("massless rod", planar=True)
    rod = m.add_body("rod", mass=0.0, inertia=0.0)
    bob = m.add_body("bob", mass=2.0, inertia=0.5)
    m.add_revolute("O", m.ground.at(0, 0), rod.at(0, 0))
    m.add_fixed("weld", rod.at(0.8, 0), bob.at(0, 0))
    eqs = da.equations(m)
    sol = da.forward_dynamics(eqs, da.assemble(eqs, {"O.angle": 0.4}), method=method)
    expected = -2.0 * 9.81 * 0.8 * np.cos(0.4) / (2.0 * 0.8**2 + 0.5)
    assert sol["O.rate"] == pytest.approx(expected, rel=1e-10)
    assert sol.residuals["motion"] < 1e-10 and sol.residuals["rows"] < 1e-10


def parallel_crank():
    """Two parallel cranks and a third: one row too many at every pose."""
    m = da.Mechanism("three cranks", planar=True)
    bar = m.add_body("bar", mass=1.0, inertia=0.2, position=(0.5, 0.3))
    for k, x in enumerate((0.0, 0.5, 1.0)):
        crank = m.add_body(f"crank{k}", mass=0.3, inertia=0.01, position=(x, 0.15), angle=np.pi / 2)
        m.add_revolute(f"O{k}", m.ground, crank, at=(x, 0))
        m.add_revolute(f"P{k}", crank, bar, at=(x, 0.3))
    return m, bar


@pytest.mark.spec("000-13", "003-C32")
def test_redundant_joints_are_flagged_and_methods_still_agree():
    m, bar = parallel_crank()
    m.add_force("push", bar.at(0.2, 0), (5.0, 0.0))
    eqs = da.equations(m)
    state = da.assemble(eqs, {"O0.angle": 0.7}, velocity={"O0.angle": 2.0})
    sols = [da.forward_dynamics(eqs, state, method=method) for method in METHODS]
    assert sols[0].rank.redundant == 1 and sols[0].rank.dof == 1
    size = np.abs(sols[0].acceleration).max()
    for sol in sols[1:]:
        assert np.allclose(sol.acceleration, sols[0].acceleration, rtol=0, atol=1e-9 * size)
    assert not any(sols[0].unique.values())
    assert not sols[0].reactions["P1"].unique


def test_a_joint_outside_the_redundant_loop_stays_unique():
    m, bar = parallel_crank()
    pendulum = m.add_body("pendulum", mass=0.5, inertia=0.01, position=(0.5, 0.1))
    m.add_revolute("hang", bar, pendulum, at=(0.5, 0.3))
    sol = da.forward_dynamics(da.equations(m))
    assert sol.reactions["hang"].unique and not sol.reactions["O0"].unique


def slider_with_friction(coulomb=0.3):
    m = da.Mechanism("slope", planar=True)
    box = m.add_body("box", mass=2.0, inertia=0.1, position=(0, 0), angle=0.6)
    m.add_prismatic("slope", m.ground, box, at=(0, 0), axis=(np.cos(0.6), np.sin(0.6)))
    m.add_friction("rub", "slope", coulomb=coulomb, speed=1e-6)
    m.add_force("press", box.at(0, 0), (0.0, -3.0))
    return m


@pytest.mark.parametrize("method", METHODS)
def test_coulomb_friction_uses_the_reaction_in_every_method(method):
    eqs = da.equations(slider_with_friction())
    sol = da.forward_dynamics(eqs, da.assemble(eqs, velocity={"slope": -1.0}), method=method)
    load = 2.0 * 9.81 + 3.0
    expected = (-load * np.sin(0.6) + 0.3 * load * np.cos(0.6)) / 2.0
    assert sol["slope.speed"] == pytest.approx(expected, abs=1e-9)  # regularisation: (1e-6)² relative
    assert sol.residuals["motion"] < 1e-12


@pytest.mark.parametrize("method", METHODS[:4])
def test_friction_that_changes_its_own_load_is_found(method):
    # a leaning rod on a sliding pin: friction changes the reaction that causes it
    m = da.Mechanism("leaning", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0), position=(0, 0))
    foot = m.add_body("foot", mass=0.2, inertia=0.01, position=(-0.3, -0.4))
    m.add_prismatic("floor", m.ground, foot, at=(-0.3, -0.4), axis=(1, 0))
    m.add_revolute("pin", foot, rod, at=(-0.3, -0.4))
    m.add_friction("rub", "floor", coulomb=0.4, speed=1e-6)
    eqs = da.equations(m)
    state = da.assemble(eqs, velocity={"floor": 0.5, "pin": 1.0})
    sol = da.forward_dynamics(eqs, state, method=method)
    system = system_at(eqs, state)
    normal = abs(sol.reactions["floor"].joint_force[1])
    (ideal,) = eqs.kernel("forces")(state.q, state.v, state.z, system.u, eqs.p, 0.0, np.zeros(len(eqs.rows)))
    rub = np.zeros(eqs.nv)
    rub[eqs.speeds.index["foot.vx"]] = -0.4 * normal
    assert np.allclose(system.M @ sol.acceleration, ideal + rub + system.A.T @ sol.lam, atol=1e-8)
    assert np.allclose(system.A @ sol.acceleration, system.b, atol=1e-11)


def test_friction_on_an_undecided_reaction_is_refused():
    m, _ = parallel_crank()
    m.add_friction("rub", "P1", coulomb=0.2, radius=0.05)
    eqs = da.equations(m)
    state = da.assemble(eqs, velocity={"O0": 1.0})
    with pytest.raises(da.ModelError, match=r"'P1'.*not unique"):
        da.forward_dynamics(eqs, state)


def test_friction_is_allowed_where_the_part_it_uses_is_unique():
    # a planar four-bar modelled in space: forces across the hinges are unique, those along them are not
    m = da.Mechanism("four-bar in space", gravity=(0, -9.81, 0))
    places = {"crank": (0.0, 0.1), "coupler": (0.3, 0.3), "rocker": (0.65, 0.2)}
    for name, (x, y) in places.items():
        m.add_body(name, mass=0.5, inertia=da.box(0.2, 0.05, 0.05), position=(x, y, 0.0))
    crank, coupler, rocker = m.bodies
    pairs = [("A", m.ground, crank, (0, 0, 0)), ("B", crank, coupler, (0, 0.2, 0))]
    pairs += [("C", coupler, rocker, (0.6, 0.4, 0)), ("D", m.ground, rocker, (0.7, 0, 0))]
    for name, a, b, at in pairs:
        m.add_revolute(name, a, b, at=at, axis=(0, 0, 1))
    m.add_friction("rub", "A", coulomb=0.1, radius=0.01)
    eqs = da.equations(m)
    state = da.assemble(eqs, velocity={"A.angle": 3.0})
    sols = [da.forward_dynamics(eqs, state, method=method) for method in METHODS[:4]]
    assert sols[0].rank.redundant == 3 and not sols[0].reactions["A"].unique
    for sol in sols[1:]:
        assert sol["A.rate"] == pytest.approx(sols[0]["A.rate"], rel=1e-9)


@pytest.mark.spec("000-09", "000-10", "003-C34")
@pytest.mark.parametrize("method", METHODS)
def test_a_knife_edge_turns_its_speed_and_pays_with_a_side_force(method):
    # skate: no speed across its blade; m v w is the side force, the speed along the blade is not changed by it
    m = da.Mechanism("skate", planar=True, gravity=0)
    m.add_body("skate", mass=2.0, inertia=0.5)
    m.add_constraint(
        "edge",
        lambda s: -da.sin(s["skate.angle"]) * s["skate.vx"] + da.cos(s["skate.angle"]) * s["skate.vy"],
        level="velocity",
    )
    eqs = da.equations(m)
    angle, speed, turn = 0.7, 3.0, 1.5
    state = eqs.state([0, 0, angle], [speed * np.cos(angle), speed * np.sin(angle), turn])
    sol = da.forward_dynamics(eqs, state, method=method)
    assert sol["skate.vx"] == pytest.approx(-speed * turn * np.sin(angle), abs=1e-12)
    assert sol["skate.vy"] == pytest.approx(speed * turn * np.cos(angle), abs=1e-12)
    assert sol.lam[0] == pytest.approx(2.0 * speed * turn, abs=1e-11)


@pytest.mark.spec("000-09", "000-10", "003-C32", "003-C34")
def test_holonomic_velocity_and_acceleration_rows_stand_side_by_side():
    m = da.Mechanism("mixed", planar=True, gravity=0)
    m.add_body("a", mass=1.0, inertia=1.0)
    m.add_body("b", mass=2.0, inertia=1.0)
    m.add_constraint("rail", lambda s: s["a.y"] - da.sin(s.t))
    m.add_constraint("speed", lambda s: s["b.vx"] ** 2 - 4.0 * s["a.vx"] - s.t**2, level="velocity")
    m.add_constraint("push", lambda s: s.acceleration_of("b.vy") - 3.0 * s["a.x"], level="acceleration")
    m.add_force("pull", m.bodies[0].at(0, 0), (2.0, 0.0))
    eqs = da.equations(m)
    assert [row.level for row in eqs.rows] == ["holonomic", "velocity", "acceleration"]
    t, vax, vbx = 0.5, 1.2, np.sqrt(4 * 1.2 + 0.25)
    state = eqs.state([0.3, np.sin(t), 0, 0, 0, 0], [vax, np.cos(t), 0, vbx, 0, 0], t=t)
    sol = da.forward_dynamics(eqs, state)
    # by hand: a.vx = (2 - 4 λ), b.vx = 2 vbx λ / 2, and 2 vbx v̇bx - 4 v̇ax = 2 t
    lam = (2 * t + 8.0) / (2 * vbx**2 + 16.0)
    assert sol.lam[1] == pytest.approx(lam, abs=1e-12)
    assert sol["a.vx"] == pytest.approx(2.0 - 4.0 * lam, abs=1e-12)
    assert sol["b.vx"] == pytest.approx(vbx * lam, abs=1e-12)
    assert sol["a.vy"] == pytest.approx(-np.sin(t), abs=1e-12)
    assert sol["b.vy"] == pytest.approx(0.9, abs=1e-12)
    assert sol.lam[2] == pytest.approx(1.8, abs=1e-12)


@pytest.mark.spec("000-16")
def test_a_wished_motion_gives_the_force_of_a_driver():
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.2, inertia=da.rod(0.8))
    m.add_revolute("O", m.ground.at(0, 0), rod.at(-0.4, 0))
    eqs = da.equations(m)
    state = da.assemble(eqs, {"O.angle": 0.3}, velocity={"O.angle": 1.0})
    system = system_at(eqs, state)
    f = eqs.kernel("forces")(state.q, state.v, state.z, system.u, eqs.p, 0.0, np.zeros(len(eqs.rows)))[0]
    _, _, S, bias = eqs.kernel("measures")(state.q, state.v, eqs.p, 0.0)
    k = eqs.measures.index["O.angle"]
    force = mx.constraint_force(system.M, f, S[[k]], np.array([5.0]) - bias[[k]], held=(system.A, system.b))
    torque = (1.2 * 0.8**2 / 12 + 1.2 * 0.4**2) * 5.0 + 1.2 * 9.81 * 0.4 * np.cos(0.3)
    assert force[2] == pytest.approx(torque, rel=1e-11)


# -- inputs and mistakes ----------------------------------------------------------------------------------------------


def test_inputs_enter_as_numbers_and_functions_of_time():
    m = da.Mechanism("cart", planar=True, gravity=0)
    cart = m.add_body("cart", mass=2.0, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_torque("drive", joint="rail", input="force")
    eqs = da.equations(m)
    assert da.forward_dynamics(eqs, inputs={"force": 3.0})["rail.speed"] == pytest.approx(1.5, abs=1e-13)
    late = eqs.state(t=2.0)
    assert da.forward_dynamics(eqs, late, inputs={"force": lambda t: t})["rail.speed"] == pytest.approx(1.0, abs=1e-13)
    with pytest.raises(da.ModelError, match="Did you mean 'force'"):
        da.forward_dynamics(eqs, inputs={"forse": 1.0})


def test_a_record_that_does_not_cover_the_time_is_refused():
    m = da.Mechanism("cart", planar=True, gravity=0)
    cart = m.add_body("cart", mass=2.0, inertia=1.0)
    m.add_force("push", cart.at(0, 0), (1.0, 0.0), input="force")
    eqs = da.equations(m)
    record = da.Record.from_channels(np.array([1.0, 2.0]), {"force": np.array([1.0, 3.0])})
    assert da.forward_dynamics(eqs, eqs.state(t=1.5), inputs=record)["cart.vx"] == pytest.approx(1.0, abs=1e-13)
    with pytest.raises(da.DataError, match="covers 1 to 2 s"):
        da.forward_dynamics(eqs, eqs.state(t=0.5), inputs=record)


def test_unknown_methods_and_names_are_refused_with_the_nearest_one():
    eqs, state = string_pendulum(0.1, 0.0)
    with pytest.raises(da.ModelError, match="Did you mean 'null_space'"):
        da.forward_dynamics(eqs, state, method="nullspace")
    sol = da.forward_dynamics(eqs, state)
    with pytest.raises(da.DataError, match=r"Did you mean 'bob\.vx'"):
        sol["bob.vxx"]
    assert "bob.vx" in repr(sol) and "string" in repr(sol)


def test_an_open_joint_is_refused():
    eqs, _ = string_pendulum(0.1, 0.0)
    with pytest.raises(da.AssemblyError, match="string"):
        da.forward_dynamics(eqs, eqs.state([3.0, 0.0, 0.0]))


def test_a_machine_without_joints_falls_freely():
    m = da.Mechanism("stone")
    m.add_body("stone", mass=2.0, inertia=(1.0, 2.0, 2.5))
    eqs = da.equations(m)
    for method in METHODS:
        sol = da.forward_dynamics(eqs, eqs.state(v=[0, 0, 0, 1.0, 2.0, 3.0]), method=method)
        assert sol["stone.vz"] == pytest.approx(-9.81)
        assert sol["stone.wx"] == pytest.approx((2.0 - 2.5) * 2.0 * 3.0 / 1.0)
        assert sol.rank.dof == 6 and sol.reactions == {}
