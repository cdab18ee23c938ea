"""Bad input of robust control: one table with the code, the place and what the remedy names; every call ends."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control import (
    PoleRegion,
    cover,
    dk,
    h2,
    hinf,
    linearize_uncertain,
    lmi_output_feedback,
    lmi_state_feedback,
    loop_shaping,
    mixed_sensitivity,
    mu,
    tf,
    worst_gain,
)
from dalembert.core.errors import DalembertError
from dalembert.linear import StateSpace, Uncertain, UncertainBlock, connect, dynamic_block, fit_uncertain
from tests.helpers.robust_plants import spring_chain

CHAIN = spring_chain(2)
LOOP = {"outputs": "reading", "inputs": "push"}
RUNAWAY = StateSpace(np.diag([-1.0, 2.0]), [[1, 1], [1, 0]], [[1, 1], [1, 1]], [[0, 1], [1, 0]],
                     inputs=["w", "u"], outputs=["z", "y"], states=["slow", "runaway"])  # fmt: skip
GROWING = fit_uncertain(lambda p: StateSpace([[p["a"]]], [1.0], [1.0], inputs="u", outputs="y"), {"a": (0.5, 1.5)})
LAG = dynamic_block("lag", inputs="u", outputs="y", weight=tf([0.2], [1.0, 1.0]))
PLANT = tf([1.0], [1.0, 1.0])
PAIR = StateSpace.gain(np.eye(2))
STAYS = StateSpace(np.diag([-1.0, 2.0]), [[1.0], [0.0]], states=["slow", "runaway"], inputs="u")


@pytest.fixture(scope="module")
def eqs():
    m = da.Mechanism("cart", planar=True, gravity=(0, 0))
    body = m.add_body("body", mass=m.parameter("mass", 1.0), inertia=1.0)
    m.add_prismatic("slide", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_spring("spring", joint="slide", stiffness=m.parameter("spring.stiffness", 10.0))
    return da.equations(m)


CASES = {
    # plants that no controller of these channels stabilises: the mode
    "not driven": (lambda: hinf(RUNAWAY, outputs="y", inputs="u"), "not-reachable", None, "runaway"),
    "not driven, H2": (lambda: h2(RUNAWAY, outputs="y", inputs="u"), "not-reachable", None, "runaway"),
    "not driven, shaped": (lambda: loop_shaping(STAYS), "not-reachable", None, "runaway"),
    "not driven, weighted": (lambda: mixed_sensitivity(STAYS, error=1.0), "not-reachable", None, "runaway"),
    "not driven, inequalities": (lambda: lmi_state_feedback(STAYS, inputs="u"), "not-reachable", {"model": 1},
                                 "runaway"),
    "integrator cancelled": (lambda: loop_shaping(tf([1.0, 0.0], [1.0, 1.0]), before=tf([1.0], [1.0, 0.0])),
                             "not-reachable", None, "Read an output"),
    # unknown names: what is known
    "reading": (lambda: hinf(CHAIN, outputs="readin", inputs="push"), "unknown-name", {"argument": "outputs"},
                "Did you mean 'reading'"),
    "command": (lambda: h2(CHAIN, outputs="reading", inputs="pull"), "unknown-name", {"argument": "inputs"}, "push"),
    "disturbance": (lambda: hinf(CHAIN, **LOOP, disturbances="wind"), "unknown-name", {"argument": "disturbances"},
                    "force"),
    "twice": (lambda: hinf(CHAIN, outputs=["reading"] * 2, inputs="push"), "duplicate", {"argument": "outputs"},
              "reading"),
    "all read": (lambda: hinf(CHAIN, outputs=CHAIN.outputs, inputs="push"), "empty", {"argument": "performance"},
                 "performance="),
    "gain": (lambda: mu(LAG, inputs="x", outputs="y"), "unknown-name", {"argument": "inputs"}, "u"),
    "half a gain": (lambda: mu(LAG, inputs="u"), "missing-argument", {"argument": "outputs"}, "both"),
    "worst gain": (lambda: worst_gain(LAG, outputs="x"), "unknown-name", {"argument": "outputs"}, "y"),
    "D-K": (lambda: dk(LAG, outputs="x", inputs="u"), "unknown-name", {"argument": "outputs"}, "y"),
    "D-K, all read": (lambda: dk(LAG, outputs="y", inputs="u"), "empty", {"argument": "disturbances"},
                      "disturbances="),
    "uncertainty": (lambda: LAG.at(lead=1.0), "unknown-name", None, "lag"),
    # an empty box
    "no width": (lambda: fit_uncertain(lambda p: PLANT, {"k": (3.0, 3.0)}), "empty", {"parameter": "k"}, "3 to 3"),
    "reversed": (lambda: fit_uncertain(lambda p: PLANT, {"k": (3.0, 2.0)}), "empty", {"parameter": "k"}, "3 to 2"),
    "outside": (lambda: fit_uncertain(lambda p: PLANT, {"k": (3.0, 5.0, 4.0)}), "out-of-range", {"parameter": "k"},
                "3 to 4"),
    "nothing": (lambda: fit_uncertain(lambda p: PLANT, {}), "empty", {"argument": "parameters"}, "parameter"),
    "region": (lambda: PoleRegion(decay=3.0, radius=2.0), "empty", None, "radius="),
    # blocks that do not fit
    "too large": (lambda: Uncertain(PAIR, [UncertainBlock("d", "full", 3, 1)]), "wrong-shape", None, "2 inputs"),
    "not square": (lambda: Uncertain(PAIR, [UncertainBlock("d", "real", 2, 1)]), "wrong-shape", None, "'d'"),
    "two of a name": (lambda: Uncertain(PAIR, [UncertainBlock("d", "real", 1, 1)] * 2), "taken-name", None, "d, d"),
    "no kind": (lambda: UncertainBlock("d", "imaginary", 1, 1), "unknown-choice", {"argument": "kind"}, "'complex'"),
    "negative": (lambda: UncertainBlock("d", "full", -1, 1), "not-a-count", {"argument": "rows"}, "-1"),
    "block of no range": (lambda: UncertainBlock("d", "real", 1, 1, 2.0, 1.0), "empty", {"parameter": "d"}, "2 to 1"),
    "matrix": (lambda: LAG.at(lag=np.ones((2, 2))), "wrong-shape", None, "(1, 1)"),
    "of another": (lambda: LAG.worst(mu(Uncertain(tf([0.5], [1.0, 1.0]), [UncertainBlock("d", "full", 1, 1)]))),
                   "channel-mismatch", None, "d"),
    # unstable weights, blocks and loops
    "weight": (lambda: mixed_sensitivity(PLANT, error=tf([1.0], [1.0, 0.0])), "unstable", {"argument": "error"},
               "-1e-3"),
    "weight of dynamics": (lambda: dynamic_block("d", inputs="u", outputs="y", weight=tf([1.0], [1.0, -1.0])),
                           "unstable", {"argument": "weight"}, "'d'"),
    "wide weight": (lambda: mixed_sensitivity(PLANT, error=PAIR), "wrong-shape", {"argument": "error"}, "2 channels"),
    "no weight": (lambda: mixed_sensitivity(PLANT), "missing-argument", None, "command="),
    "dynamics": (lambda: LAG.at(lag=tf([1.0], [1.0, -1.0])), "unstable", {"uncertainty": "lag"}, "'lag'"),
    "loop": (lambda: mu(GROWING), "unstable", None, "connect"),
    "loop of a gain": (lambda: worst_gain(GROWING), "unstable", None, "connect"),
    "family": (lambda: cover([tf([1.0], [1.0, -1.0])]), "unstable", None, "pole at 1"),
    "no relative error": (lambda: cover([PLANT, PLANT.replace(C=[[2.0]])], nominal=PLANT.replace(C=[[0.0]])),
                          "no-solution", {"argument": "nominal"}, "another nominal"),
    # goals that contradict each other
    "norm below its minimum": (lambda: lmi_output_feedback(CHAIN, **LOOP, hinf_limit=0.1), "infeasible",
                               {"models": [1]}, "Raise the limit"),
    "norm below any": (lambda: hinf(CHAIN, **LOOP, back_off=-0.5), "out-of-range", {"argument": "back_off"}, "-0.5"),
    # values of the wrong kind
    "not uncertain": (lambda: mu(CHAIN), "wrong-type", {"argument": "uncertain"}, "fit_uncertain"),
    "not certain": (lambda: hinf(LAG, outputs="y", inputs="u"), "wrong-type", {"argument": "system"}, ".system"),
    "frequencies": (lambda: mu(LAG, frequencies="all"), "out-of-range", {"argument": "frequencies"}, "rad/s"),
    "no family": (lambda: cover(3.0), "wrong-type", None, "float"),
    "no models": (lambda: lmi_state_feedback(3.0, inputs="u"), "wrong-type", {"argument": "models"}, "float"),
    "no result": (lambda: LAG.worst(3.0), "wrong-type", None, "float"),
}  # fmt: skip

OF_MACHINES = {
    "unknown parameter": ({"spring.stifness": 0.1}, "unknown-name", {"parameter": "spring.stifness"}, "Did you mean"),
    "empty share": ({"mass": 0.0}, "empty", {"parameter": "mass"}, "1 to 1"),
    "outside": ({"mass": (2.0, 3.0)}, "out-of-range", {"parameter": "mass"}, "2 to 3"),
    "no number": ({"mass": "heavy"}, "wrong-type", {"parameter": "mass"}, "heavy"),
    "no range": (["mass"], "wrong-type", {"argument": "parameters"}, "deviations"),
    "negative mass": ({"mass": 2.0}, "negative", {"speed": "body.vx"}, "mass=-1"),
}


def refuse(call, code: str, place: dict[str, object] | None, remedy: str) -> None:
    with pytest.raises(DalembertError) as caught:
        call()
    finding = caught.value.finding
    assert finding.code == code
    assert place is None or dict(finding.where).items() >= place.items()
    assert remedy in str(caught.value)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_with_its_code_place_and_remedy(name):
    if "inequalities" in name or "norm below its" in name:
        pytest.importorskip("clarabel")
    refuse(*CASES[name])


@pytest.mark.parametrize("name", OF_MACHINES)
def test_what_is_said_of_a_machine_is_checked_too(eqs, name):
    ranges, *expected = OF_MACHINES[name]
    refuse(lambda: linearize_uncertain(eqs, parameters=ranges), *expected)


def test_a_loop_of_uncertain_parts_needs_its_channels():
    with pytest.raises(DalembertError) as caught:
        connect([LAG, CHAIN], inputs=["gust"])
    assert caught.value.finding.code == "unknown-name"
