"""Parts joined at their boundaries, by matrices and by frequency responses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.linear import SecondOrder
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.linear.responses.harmonic import frequency_response
from dalembert.record import Record
from dalembert.structures import condense_static, couple, couple_receptances, craig_bampton, guyan, rubin
from tests.helpers.chains import frequencies
from tests.helpers.findings import raises


def bar(names: list[str], *, held: bool = False, c: float = 0.0, **more: object) -> SecondOrder:
    """Unit masses (halves at the ends) in a row, springs of 1."""
    n = len(names)
    K = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    K[0, 0] = 2.0 if held else 1.0
    K[-1, -1] = 1.0
    M = np.eye(n)
    M[0, 0] = M[-1, -1] = 0.5
    return SecondOrder(M, K, C=c * K, coordinates=names, **more)  # type: ignore[arg-type]


LEFT, RIGHT = ["a", "b", "c", "d"], ["d", "e", "f"]


def whole(c: float = 0.0) -> SecondOrder:
    return bar(["a", "b", "c", "d", "e", "f"], held=True, c=c)


# ---- matrices


@pytest.mark.spec("003-C72")
def test_parts_are_added_at_equal_names():
    joined = couple({"left": bar(LEFT, held=True, c=0.1), "right": bar(RIGHT, c=0.1)})
    assert joined.system.coordinates == tuple("abcdef")
    assert joined.joined == ("d",)
    for symbol in ("M", "C", "K"):
        np.testing.assert_allclose(getattr(joined.system, symbol), getattr(whole(0.1), symbol))
    assert "2 parts, 6 coordinates, 1 shared" in repr(joined)


@pytest.mark.spec("003-C72")
def test_dense_and_sparse_parts_join_to_a_sparse_whole():
    joined = couple({"left": bar(LEFT, held=True).sparse(), "right": bar(RIGHT)})
    assert joined.system.is_sparse
    np.testing.assert_allclose(joined.system.K.toarray(), whole().K)


@pytest.mark.spec("003-C72")
def test_modal_coordinates_are_private_and_every_part_comes_back_whole():
    parts = {"left": craig_bampton(bar(LEFT, held=True), "d", None), "right": craig_bampton(bar(RIGHT), "d", None)}
    joined = couple(parts)
    assert joined.system.coordinates == ("d", "left.mode1", "left.mode2", "left.mode3", "right.mode1", "right.mode2")
    assert joined.modal == joined.system.coordinates[1:]
    np.testing.assert_allclose(frequencies(joined.system), frequencies(whole()), rtol=1e-12)
    modes = joined.system.modes()
    exact = whole().modes()
    for name, own in (("left", slice(0, 4)), ("right", slice(3, 6))):
        shapes = joined.part(name, modes)
        assert shapes.coordinates == tuple("abcdef"[own])
        for k in range(6):
            np.testing.assert_allclose(np.abs(shapes.shapes[:, k]), np.abs(exact.shapes[own, k]), rtol=0, atol=1e-10)
    x = np.arange(6.0)
    both = joined.expand(x)
    np.testing.assert_array_equal(both["left"], parts["left"].expand(x[[0, 1, 2, 3]]))
    assert both["left"][3] == both["right"][0] == 0.0
    np.testing.assert_array_equal(joined.part("left", x, full=False), x[[0, 1, 2, 3]])


def test_records_of_the_whole_are_taken_apart_with_their_inputs():
    left = condense_static(bar(LEFT, held=True, B=[0, 1, 0, 0], inputs="push"), "d")
    right = craig_bampton(bar(RIGHT, B=[0, 0, 1], inputs="push"), "d", 1)
    joined = couple({"left": left, "right": right})
    assert joined.system.inputs == ("left.push", "right.push")
    names = ("d", "right.mode1", "left.push", "right.push")
    record = Record([0.0, 1.0], [[0.0, 0, 0, 0], [1.0, 2.0, 3.0, 4.0]], names)
    found = joined.part("left", record)
    assert found.names == tuple(LEFT)
    np.testing.assert_allclose(found.data[1], left.T[:, 0] + 3.0 * left.residual[:, 0])
    np.testing.assert_allclose(joined.part("right", record).data[1], right.T @ [1.0, 2.0])
    np.testing.assert_allclose(
        joined.part("left", [1.0, 2.0], inputs={"left.push": 3.0, "right.push": 4.0}), found.data[1]
    )
    with raises(DataError, "unknown-name", "'d'"):
        joined.part("left", Record([0.0, 1.0], [[0.0], [1.0]], ["right.mode1"]))


@pytest.mark.spec("003-C72")
def test_a_boundary_coordinate_in_one_part_only_is_reported():
    left = SecondOrder(np.eye(3), np.eye(3), coordinates=["A.x", "A.y", "B.x"])
    right = SecondOrder(np.eye(2), np.eye(2), coordinates=["A.x", "C.x"])
    with raises(ModelError, "several-problems", "'A.y'", "'A'"):
        couple({"left": left, "right": right})
    with raises(ModelError, "several-problems", "'A.y'"):
        couple({"left": left, "right": right}, shared="A")
    assert couple({"left": left, "right": right}, shared=["A.x"]).joined == ("A.x",)
    with raises(ModelError, "several-problems", "'D'", "'B.x'", "'C.x'") as caught:
        couple({"left": left, "right": right}, shared=["A.x", "B.x", "C.x", "D"])
    found = [(one.code, one.where["coordinate"]) for one in caught.value.finding.evidence["problems"]]
    assert found == [("unknown-name", "D"), ("not-connected", "B.x"), ("not-connected", "C.x")]


def test_nothing_in_common_is_reported():
    with raises(ModelError, "not-connected"):
        couple({"left": bar(["a", "b"]), "right": bar(["c", "d"])})
    with raises(ModelError, "empty"):
        couple({})
    with raises(ModelError, "wrong-type", "'left'"):
        couple({"left": 3})  # type: ignore[dict-item]


def test_equal_names_that_are_not_shared_are_kept_apart():
    joined = couple({"left": bar(["x1", "x2"]), "right": bar(["x1", "x2"])}, (), join={"left.x2": "right.x1"})
    assert joined.system.coordinates == ("left.x1", "left.x2", "right.x2")
    np.testing.assert_allclose(joined.system.K, bar(["a", "b", "c"]).K)


@pytest.mark.spec("003-C72")
def test_points_of_other_names_are_joined_component_by_component():
    left = SecondOrder(np.eye(4), np.diag([1.0, 2, 3, 4]), coordinates=["A.x", "A.y", "B.x", "B.y"])
    right = SecondOrder(np.eye(3), np.diag([5.0, 6, 7]), coordinates=["C.y", "C.x", "E.x"])
    joined = couple({"left": left, "right": right}, join={"left.B": "right.C"})
    assert joined.system.coordinates == ("A.x", "A.y", "left.B.x", "left.B.y", "E.x")
    np.testing.assert_array_equal(np.diag(joined.system.K), [1, 2, 3 + 6, 4 + 5, 7])
    np.testing.assert_array_equal(joined.part("right", [0.0, 0, 1, 2, 3]), [2.0, 1.0, 3.0])
    with raises(ModelError, "several-problems", "'left.B'", "'right.E'") as caught:
        couple({"left": left, "right": right}, join={"left.B": "right.E"})
    assert [one.code for one in caught.value.finding.evidence["problems"]] == ["missing-coordinates"]
    with raises(ModelError, "several-problems", "'D'", "'right'"):
        couple({"left": left, "right": right}, join={"left.B": "right.D"})
    with raises(ModelError, "several-problems"):
        couple({"left": left, "right": right}, join={"B": "right.C"})


def test_coordinates_of_one_part_can_be_joined_too():
    """A ring: the ends of a free bar made one."""
    joined = couple({"ring": bar(["a", "b", "c", "d"])}, join={"ring.a": "ring.d"})
    np.testing.assert_allclose(joined.system.K, 3 * np.eye(3) - np.ones((3, 3)))
    np.testing.assert_allclose(joined.system.M, np.eye(3))


def test_springs_and_dampers_between_parts_and_to_the_ground():
    parts = {"left": bar(["a", "b"]), "right": bar(["c", "d"])}
    joined = couple(parts, springs={("b", "right.c"): 1.0, ("a", None): 1.0}, dampers={("a", "d"): 0.5})
    middle = bar(["a", "b", "c", "d"], held=True).K
    np.testing.assert_allclose(joined.system.K, middle)
    np.testing.assert_allclose(joined.system.C, 0.5 * np.outer([1, 0, 0, -1], [1, 0, 0, -1]))
    with raises(ModelError, "unknown-name", "'q'"):
        couple(parts, springs={("b", "q"): 1.0})
    with raises(ModelError, "duplicate"):
        couple(parts, springs={("b", "left.b"): 1.0})
    with raises(ModelError, "wrong-type"):
        couple(parts, springs={"b": 1.0})  # type: ignore[dict-item]


def test_inputs_outputs_and_units_are_carried_over():
    left = bar(LEFT, B=[1, 0, 0, 0], inputs="force", Y_velocity=[[0, 1, 0, 0]], outputs="speed",
               units={"force": "N", "speed": "m/s", "d": "m"})  # fmt: skip
    right = bar(RIGHT, B=[0, 0, 1], inputs="force", units={"force": "N", "f": "m"})
    joined = couple({"left": left, "right": right}).system
    assert joined.inputs == ("left.force", "right.force")
    assert joined.outputs == ("speed", "d", "e", "f")
    np.testing.assert_array_equal(joined.Y_velocity[0], [0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(joined.Y_position[3], [0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(joined.B, np.eye(6)[:, [0, 5]])
    assert dict(joined.units) == {"left.force": "N", "right.force": "N", "speed": "m/s", "d": "m", "f": "m"}


def test_a_coupled_system_is_a_part_of_a_larger_one():
    first = couple(
        {"l": craig_bampton(bar(LEFT, held=True), "d", None), "r": craig_bampton(bar(RIGHT), ["d", "f"], None)}
    )
    last = craig_bampton(bar(["f", "g", "h"]), "f", None)
    joined = couple({"first": first, "last": last})
    assert joined.joined == ("f",)
    exact = bar(list("abcdefgh"), held=True)
    np.testing.assert_allclose(frequencies(joined.system), frequencies(exact), rtol=1e-10)
    again = pickle.loads(pickle.dumps(joined))  # noqa: S301  (our own bytes)
    assert again.joined == ("f",)
    with raises(DataError, "unknown-name", "'lst'", "'last'"):
        joined.part("lst", np.zeros(joined.system.nq))
    with raises(DataError, "wrong-shape", "(2,)"):
        joined.part("last", [1.0, 2.0])


def test_static_and_dynamic_substructuring_of_parts_agree_on_statics():
    """Guyan parts joined are the Guyan reduction of the whole onto all boundary coordinates."""
    joined = couple({"left": guyan(bar(LEFT, held=True), ["a", "d"]), "right": guyan(bar(RIGHT), ["d", "f"])}).system
    direct = guyan(whole(), ["a", "d", "f"]).system
    np.testing.assert_allclose(joined.K, direct.K, rtol=0, atol=1e-14)
    np.testing.assert_allclose(joined.M, direct.M, rtol=0, atol=1e-14)


# ---- frequency responses

W = np.array([0.0, 0.3, 0.7, 1.4])


def responses(kind: str = "receptance", c: float = 0.05) -> dict[str, FrequencyResponse]:
    right = couple({"right": bar(RIGHT, c=c)}, springs={("f", None): 0.3}).system  # held, so that ω = 0 exists
    parts = {"left": bar(LEFT, held=True, c=c), "right": right}
    return {name: frequency_response(s, W, kind=kind) for name, s in parts.items()}


def reference(kind: str = "receptance", c: float = 0.05) -> FrequencyResponse:
    return frequency_response(couple({"all": whole(c)}, springs={("f", None): 0.3}).system, W, kind=kind)


@pytest.mark.parametrize("kind", ["receptance", "mobility", "accelerance"])
def test_coupling_by_responses_is_coupling_by_matrices(kind: str):
    """Static (ω = 0) and dynamic substructuring, two formulations that share nothing but the parts."""
    parts = responses(kind)
    if kind != "receptance":  # both vanish at rest: no force between the parts could be found there
        parts = {
            name: FrequencyResponse(W[1:], fr.values[1:], fr.inputs, fr.outputs, kind=kind)
            for name, fr in parts.items()
        }
    joined = couple_receptances(parts)
    exact = reference(kind)
    assert joined.outputs == joined.inputs == tuple("abcdef")
    assert joined.kind == kind
    np.testing.assert_allclose(joined.values, exact.values[len(W) - len(joined) :], rtol=0, atol=1e-12)


def test_only_the_interface_and_what_is_asked_for_must_be_measured():
    full = responses()
    joined = couple_receptances({
        "left": full["left"].select(["a", "d"], ["d"]), "right": full["right"].select(["d"], ["d", "f"])
    })  # fmt: skip
    assert joined.outputs == ("a", "d") and joined.inputs == ("d", "f")
    np.testing.assert_allclose(joined["a", "f"], reference()["a", "f"], rtol=0, atol=1e-12)
    with raises(ModelError, "missing-response", "'d'", "'left'"):
        couple_receptances({"left": full["left"].select(["a", "d"], ["a"]), "right": full["right"]})


@pytest.mark.parametrize("kind", ["receptance", "mobility"])
def test_parts_joined_by_a_spring(kind: str):
    w = W[1:]
    left, right = bar(["a", "b"], held=True, c=0.1), bar(["c", "e"], c=0.1)
    parts = {name: frequency_response(s, w, kind=kind) for name, s in {"left": left, "right": right}.items()}
    joined = couple_receptances(parts, springs={("left.b", "right.c"): 3.0})
    exact = frequency_response(couple({"left": left, "right": right}, springs={("b", "c"): 3.0}).system, w, kind=kind)
    np.testing.assert_allclose(joined.values, exact.values, rtol=0, atol=1e-12)
    with raises(ModelError, "not-positive"):
        couple_receptances(parts, springs={("left.b", "right.c"): -1.0})


def test_differently_named_coordinates_are_joined_by_a_mapping():
    full = responses()
    renamed = FrequencyResponse(W, full["right"].values, ["k", "e", "f"], ["k", "e", "f"], kind="receptance")
    joined = couple_receptances({"left": full["left"], "right": renamed}, join={"left.d": "right.k"})
    assert joined.outputs == ("a", "b", "c", "left.d", "e", "f")
    np.testing.assert_allclose(joined.values, reference().values, rtol=0, atol=1e-12)


def test_responses_that_do_not_fit_are_refused():
    full = responses()
    other = FrequencyResponse(W + 0.1, full["right"].values, RIGHT, RIGHT, kind="receptance")
    with raises(ModelError, "unlike-parts", "'left'", "'right'"):
        couple_receptances({"left": full["left"], "right": other})
    with raises(ModelError, "unlike-parts", "'left'", "'right'"):
        couple_receptances({"left": full["left"], "right": responses("mobility")["right"]})
    with raises(ModelError, "not-connected"):
        couple_receptances({"left": full["left"]})
    with raises(ModelError, "wrong-type"):
        couple_receptances({"left": bar(LEFT)})  # type: ignore[dict-item]
    with raises(ModelError, "empty"):
        couple_receptances({})


def test_an_undamped_resonance_of_the_joined_system_is_reported():
    """Mass 1 on a spring of 1, in two parts: at 1 rad/s their receptances cancel."""
    mass, spring = SecondOrder(1.0, 0.0, coordinates="A"), SecondOrder(0.0, 1.0, coordinates="A")
    parts = {name: frequency_response(s, [1.0]) for name, s in {"mass": mass, "spring": spring}.items()}
    with raises(DataError, "singular-matrix", "1 rad"):
        couple_receptances(parts)


def test_responses_of_reduced_parts_join_like_the_reduced_parts():
    left, right = rubin(bar(LEFT, held=True, c=0.05), "d", 2), craig_bampton(bar(RIGHT, c=0.05), "d", 1)
    joined = couple({"left": left, "right": right}).system
    w = W[1:]
    parts = {"left": frequency_response(left.system, w, inputs="d", outputs="d"),
             "right": frequency_response(right.system, w, inputs="d", outputs="d")}  # fmt: skip
    exact = frequency_response(joined, w, inputs="d", outputs="d")
    np.testing.assert_allclose(couple_receptances(parts)["d", "d"], exact["d", "d"], rtol=1e-11)
