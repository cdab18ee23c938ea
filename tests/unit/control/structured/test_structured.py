"""Controllers of fixed structure: gradients, structures, goals on every model, schedules, mistakes."""

import math

import numpy as np
import pytest

import dalembert as da
from dalembert.control import (
    CrossoverGoal,
    DampingGoal,
    DecayGoal,
    Decentralised,
    DiskMarginGoal,
    FixedOrder,
    H2Goal,
    HinfGoal,
    ObserverForm,
    PhaseMarginGoal,
    PIDLoops,
    StaticGain,
    TrackingGoal,
    structured,
)  # fmt: skip
from dalembert.control.structured.goal import GOALS
from dalembert.control.structured.loops import Family
from dalembert.control.structured.search import descend
from dalembert.control.structured.structured import _problem, _Search
from dalembert.core.errors import DalembertWarning, DataError


def masses(k=1.0, damping=0.01, **about):
    """Two masses with a spring between them and to the wall; force on the first, noise on the second."""
    K = np.array([[1.0 + k, -k], [-k, k]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -damping * K]])
    B = np.array([[0, 0], [0, 0], [1, 0], [0, 1.0]])
    return da.StateSpace(A, B, inputs=["force", "noise"], states=["x1", "x2", "v1", "v2"], provenance=about)


FAMILY = [masses(k) for k in (0.7, 1.0, 1.4)]
STATES = ("x1", "x2", "v1", "v2")


@pytest.mark.parametrize(
    ("goal", "seed"),
    [
        (DampingGoal(0.6), 1), (DecayGoal(0.5), 1), (PhaseMarginGoal(1.5), 2), (CrossoverGoal(0.2), 2),
        (DiskMarginGoal(1.9), 2), (H2Goal("noise", ("x1", "x2"), 0.1), 1), (HinfGoal("noise", "x2", 0.1), 1),
        (TrackingGoal("noise", "x2", 0.5, 0.05, 0.5), 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scheduled", [None, "bend"])
def test_gradients_are_those_of_the_ratios(goal, seed, scheduled):
    """Against central differences, at a stable loop."""
    models = [masses(k, at={"bend": k}) for k in (0.7, 1.3)]
    structure = FixedOrder(2, drives="force", reads=STATES)
    family, K0, E, functions, _ = _problem(models, structure, scheduled, 1)
    stable = _Search(family, K0, E, functions, (DampingGoal(0.1),), (), 0.02)
    random = np.random.default_rng(seed)
    theta, value = descend(stable.objective([0, 1], 1.0, soft=False), stable.initial(2, random, True), steps=60,
                           done=lambda v: v <= 0.0)  # fmt: skip
    assert value == 0.0
    f = _Search(family, K0, E, functions, (goal,), (), 0.02).objective([0, 1], 1.0, soft=False)
    value, gradient = f(theta)
    assert value > 0.0
    direction = random.normal(size=len(theta))
    step = 1e-6
    slope = (f(theta + step * direction)[0] - f(theta - step * direction)[0]) / (2 * step)
    assert gradient @ direction == pytest.approx(slope, rel=1e-4)  # peaks by golden section


@pytest.mark.spec("001-C59")
def test_a_static_gain_meets_every_goal_on_every_model():
    hard = [DampingGoal(0.5), PhaseMarginGoal(math.radians(50)), CrossoverGoal(20.0)]
    done: list[float] = []
    design = structured(FAMILY, StaticGain(drives="force", reads=STATES), hard=hard, seed=3, progress=done.append)
    assert done == sorted(done) and done[-1] == 1.0
    assert len(design.goals) == 9 and all(goal.holds for goal in design.goals)
    for model in FAMILY:
        plant = model.select(inputs="force")
        law = da.control.open_loop(design.law(), plant)
        poles = np.linalg.eigvals(law.feedback().A)
        assert (-poles.real / np.abs(poles)).min() >= 0.5
        assert da.control.margins(law).channels[0].phase >= math.radians(50)
    assert "damping >= 0.5" in repr(design)


def test_soft_goals_fall_to_the_optimum_of_the_regulator():
    """H2 from the noise to states and force, by a static gain of all states: the linear quadratic regulator."""
    model = masses()
    costly = da.StateSpace(
        model.A, np.hstack([model.B, np.eye(4)]), np.vstack([np.eye(4), np.zeros((1, 4))]),
        np.vstack([np.zeros((4, 6)), [[1.0, 0, 0, 0, 0, 0]]]), states=model.states,
        inputs=["force", "noise", "w1", "w2", "w3", "w4"], outputs=[*STATES, "cost"],
    )  # fmt: skip
    noise = ("w1", "w2", "w3", "w4")
    design = structured(costly, StaticGain(drives="force", reads=STATES), soft=[H2Goal(noise, (*STATES, "cost"))],
                        starts=1)  # fmt: skip
    regulator = da.control.lqr(model.select(inputs="force"), Q=1.0, R=1.0)
    best = math.sqrt(np.trace(regulator.cost))
    assert best * (1 - 1e-9) <= design.goals[0].value <= best * (1 + 1e-3)
    assert pytest.approx(-regulator.K, rel=0.05) == design.controller.D


def test_soft_goals_count_on_models_that_do_not_begin_the_search():
    """One of 13 models is worse than all others; the search begins with six evenly spaced ones."""
    models = []
    for k in np.linspace(0.8, 1.2, 13):
        model = masses(0.1, 0.001) if abs(k - 0.9) < 1e-9 else masses(k)
        models.append(da.StateSpace(model.A, model.B, np.vstack([np.eye(4), np.zeros((1, 4))]),
                                    [[0, 0]] * 4 + [[1.0, 0]], inputs=model.inputs, states=model.states,
                                    outputs=[*STATES, "cost"]))  # fmt: skip
    soft, gain = [H2Goal("noise", ("x2", "cost"))], StaticGain(drives="force", reads=STATES)
    worst = [max(goal.value for goal in structured(family, gain, soft=soft, starts=1).goals)
             for family in (models, [models[0], models[3], models[12]])]  # fmt: skip
    assert worst[0] == pytest.approx(worst[1], rel=0.01)


def test_pid_loops_of_a_servo_meet_tracking_margin_and_damping():
    """Loops with the integrators of plant and controller begin unstable: stability comes first, then the goals."""
    servos = []
    for inertia in (0.8, 1.0, 1.3):
        A, B = [[0, 1], [0, -0.2 / inertia]], [[0, 0], [0, 1 / inertia]]
        servos.append(da.StateSpace(A, B, [[-1, 0]], [[1, 0]], inputs=["wanted", "torque"], outputs="error"))
    hard = [DampingGoal(0.5), TrackingGoal("wanted", "error", bandwidth=2.0), PhaseMarginGoal(math.radians(45))]
    design = structured(servos, PIDLoops({"torque": "error"}, filter=0.02), hard=hard)
    assert len(design.goals) == 9 and all(goal.holds for goal in design.goals)
    at_rest = design.closed_loop().select(inputs="wanted", outputs="error").dc_gain()
    assert abs(at_rest[0, 0]) < 1e-6


def test_every_structure_has_its_zeros_and_damps():
    pairs = {"force": ("x1", "v1")}
    structures = {
        "order": FixedOrder(2, direct=False, drives="force", reads="v1"),
        "PID": PIDLoops({"force": "x1"}, filter=0.05),
        "decentralised": Decentralised(pairs, order=1),
        "observer": ObserverForm(masses().select(inputs="force", outputs="x1"), drives="force", reads="x1"),
    }
    for name, structure in structures.items():
        design = structured(FAMILY[1], structure, hard=[DampingGoal(0.12)], seed=1, starts=5)
        K = design.controller
        assert design.goals[0].holds, name
        assert K.nx == structure.states
        if name == "order":
            assert not K.D.any()
        if name == "PID":
            assert pytest.approx(np.diag([0.0, -20.0])) == K.A
        if name == "observer":
            model, F, L = structure.model, -K.C, K.B
            assert pytest.approx(model.A - model.B @ F - L @ model.C) == K.A


def test_a_schedule_reads_its_coordinate():
    """The gain of the force turns with an angle: no constant gain damps both, cos and sin do."""
    angles = np.linspace(0.0, 2 * np.pi, 6, endpoint=False)
    models = [
        da.StateSpace([[0, 1], [-1, 0]], [[0, 0], [math.cos(a), math.sin(a)]], inputs=["u", "v"], states=["x", "rate"],
                      provenance={"at": {"turn.angle": a}}) for a in angles
    ]  # fmt: skip
    goals = [DampingGoal(0.5)]
    with pytest.warns(DalembertWarning, match="no controller"):
        structured(models, StaticGain(), hard=goals, starts=1)
    design = structured(models, StaticGain(), hard=goals, scheduled="turn.angle")
    assert all(goal.holds for goal in design.goals)
    assert design.law().reads == ("x", "rate", "turn.angle")
    state = np.array([0.3, -0.2, 1.1])
    u, _ = design.law().function(state, [], [], [], 0.0)
    assert np.array(u).ravel() == pytest.approx(design.at(1.1).D @ state[:2], rel=1e-12)
    assert all(loop.poles().values.real.max() < 0.0 for loop in design.closed_loops())


def test_a_sampled_schedule_is_tustins_at_every_value_of_the_coordinate():
    """Pulse responses of the law at a fixed angle and of its linear controller, sampled."""
    models = [masses(k, at={"turn.angle": k}) for k in (0.7, 1.0, 1.4)]
    design = structured(models, FixedOrder(2, drives="force", reads="x1"), hard=[DecayGoal(1e-3)],
                        scheduled="turn.angle", starts=1)  # fmt: skip
    law, fixed = design.law(dt=0.1), design.at(1.2).to_discrete(0.1, "tustin")
    assert law.dt == 0.1
    x, z, y = np.zeros(2), np.zeros(2), 1.0
    for _ in range(5):
        u, x = (np.array(part).ravel() for part in law.function([y, 1.2], x, [], [], 0.0))
        assert u == pytest.approx(fixed.C @ z + fixed.D[:, 0] * y, rel=1e-9, abs=1e-12)
        z, y = fixed.A @ z + fixed.B[:, 0] * y, 0.0


def test_goals_of_other_packages_are_known_by_name():
    assert {"damping", "decay", "phase margin", "disk margin", "crossover", "H2", "H-infinity", "tracking"} <= set(
        GOALS
    )


def test_the_scale_of_the_models_does_not_matter():
    family = Family.of(FAMILY, ("force",), STATES)
    K = np.arange(15.0).reshape(3, 5)
    assert family.scaled(family.unscaled(K)) == pytest.approx(K, rel=1e-12)


def test_mistakes_are_named():
    gain = StaticGain(drives="force", reads=STATES)
    with pytest.raises(DataError, match="at least one goal"):
        structured(FAMILY, gain)
    with pytest.raises(DataError, match="frce"):
        structured(FAMILY, StaticGain(drives="frce"), hard=[DampingGoal(0.1)])
    with pytest.raises(DataError, match="x9"):
        structured(FAMILY, gain, soft=[H2Goal("noise", "x9")])
    with pytest.raises(DataError, match="bend"):
        structured(FAMILY, gain, hard=[DampingGoal(0.1)], scheduled="bend")
    with pytest.raises(DataError, match="continuous"):
        structured(FAMILY[0].to_discrete(0.1), gain, hard=[DampingGoal(0.1)])
    with pytest.raises(DataError, match="ratio"):
        DampingGoal(1.5)
    alone = da.StateSpace(np.kron(np.eye(2), [[0, 1.0], [-1, 0]]) * np.repeat([1.0, 3.0], 2)[:, None],
                          [0, 1, 0, 0], inputs="u")  # fmt: skip
    with pytest.raises(DataError) as refused:
        structured(alone, StaticGain(), hard=[DampingGoal(0.1)])
    assert refused.value.code == "not-reachable" and "not reached" in str(refused.value)
    direct = FAMILY[0].replace(D=np.ones((4, 2)))
    with pytest.raises(DataError) as refused:
        structured(direct, gain, hard=[DampingGoal(0.1)])
    assert refused.value.code == "algebraic-loop"
    with pytest.raises(DataError, match="infinite"):
        structured(FAMILY[0].replace(D=np.outer([0, 1, 0, 0], [0, 1])), StaticGain(drives="force", reads="x1"),
                   soft=[H2Goal("noise", "x2")])  # fmt: skip
