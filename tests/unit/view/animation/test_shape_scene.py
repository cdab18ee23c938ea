"""Mode shapes at sensors: places as users say them, and what the page gets to draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dalembert as da
from dalembert.files.modal.geometry import Geometry
from dalembert.identify import IdentificationWarning, Identified
from dalembert.linear.modes import Modes
from dalembert.view.animation.shape_scene import Spot, find_motion, read_places, shape_animation
from tests.helpers.findings import raises, warns

CHANNELS = ["a1", "a2"]
PLACES = {"ground": (0, 0, 0), "a1": (0, 0, 1, "x"), "a2": (0, 0, 2, "-x")}


def modes(shapes: Any = ((0.5, 1.0), (1.0, -0.5))) -> Modes:
    return Modes([-0.1 + 6j, -0.2 + 18j], np.asarray(shapes), CHANNELS)


def data(animation: da.view.animation.Animation) -> Any:
    return animation._data


def test_places_carry_their_channels_and_directions() -> None:
    spots = read_places(PLACES, CHANNELS)
    assert spots == {
        "ground": Spot((0.0, 0.0, 0.0)), "a1": Spot((0.0, 0.0, 1.0), {"a1": "x"}),
        "a2": Spot((0.0, 0.0, 2.0), {"a2": "-x"}),
    }  # fmt: skip


def test_channels_at_one_place_move_one_spot() -> None:
    spots = read_places({"a1": (0, 1, "x"), "a2": (0, 1, "y")}, CHANNELS)
    assert spots == {"a1": Spot((0.0, 1.0, 0.0), {"a1": "x", "a2": "y"})}


@pytest.mark.parametrize(
    ("places", "code"),
    [
        ({"a3": (0, 0, "x")}, "unknown-name"),
        ({"a1": (0, 0)}, "missing-argument"),
        ({"a1": (0, 0, "up")}, "unknown-choice"),
        ({"a1": (0, 0, (0, 0, 0))}, "unknown-choice"),
        ({"a1": (0, 0, (1, 2))}, "unknown-choice"),
        ({"a1": (0, "x")}, "wrong-shape"),
        ({"a1": (0, float("nan"), "x")}, "wrong-shape"),
        ({"a1": 3}, "wrong-shape"),
        ({"ground": (0, 0)}, "unknown-name"),
    ],
)
def test_wrong_places_are_refused(places: Any, code: str) -> None:
    with raises(da.errors.DataError, code):
        read_places(places, CHANNELS)


def test_shapes_are_scaled_to_the_largest_displacement_and_keep_their_signs() -> None:
    made = data(shape_animation(modes(), read_places(PLACES, CHANNELS)))
    shapes = made["shapes"]
    assert shapes.shape == (2, 3 + 2 * 2, 3)  # spots, then two ends of each line
    assert np.abs(shapes).max(axis=(1, 2)) == pytest.approx(1.0)
    # the second channel measures against x: equal signs of the shape are opposite motions
    assert shapes[0, 1, 0] * shapes[0, 2, 0] == pytest.approx(-0.5)
    assert not shapes[:, 0].any()
    assert made["marks"]["fixed"].tolist() == [0]
    assert made["turned"] is None


def test_a_complex_shape_turns() -> None:
    made = data(shape_animation(modes(((0.5, 1.0), (1.0, 0.5j))), read_places(PLACES, CHANNELS)))
    assert np.abs(made["turned"][1]).max() == pytest.approx(0.5)


def test_a_bent_line_leaves_its_ends_straight() -> None:
    spots = {"low": Spot((0.0, 0.0, 0.0)), "high": Spot((0.0, 1.0, 0.0), {"a1": "x"})}
    made = data(shape_animation(modes(), spots, (), bent=[("low", "high")]))
    along = made["shapes"][0, 2:, 0]
    assert (along[0], along[-1]) == pytest.approx((0.0, 1.0))
    assert along[6] == pytest.approx(0.5)
    assert along[1] < 0.5 / 12  # slope 0 at the foot
    assert made["planar"] is True


@pytest.mark.slow
def test_an_identified_model_with_places_moves_on_its_page(tmp_path: Path) -> None:
    frame = da.SecondOrder(np.eye(2), [[200.0, -100.0], [-100.0, 100.0]], C=0.5 * np.eye(2), B=[[1.0], [0.0]],
                           Y_acceleration=np.eye(2), inputs="force", outputs=CHANNELS)  # fmt: skip
    model = Identified(frame.state_space().to_discrete(0.05), method="given")
    t = 0.05 * np.arange(200)
    force = np.random.default_rng(0).standard_normal((200, 1))
    record = da.Record(t, np.hstack([force, np.zeros((200, 2))]), ["force", *CHANNELS])
    played = model.simulate(record, start="zero")
    record = da.Record(t, np.hstack([force, played.data]), ["force", *CHANNELS], name="test")
    da.report(model, tmp_path / "page.html", records=record, places=PLACES)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<iframe") == 1
    assert "It vibrates at" in page
    assert "data hash of test, 200 samples (SHA-256)" in page
    assert "model hash (SHA-256)" in page
    with raises(da.errors.DataError, "missing-argument"):
        da.report(model, tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()


def test_a_geometry_brings_its_lines_and_warns_of_names_that_do_not_fit() -> None:
    places = {"base": (0.0, 0.0, 0.0), "a1": (0.0, 0.0, 1.0, "x"), "a2": (0.0, 0.0, 1.0, "y"), "far": (5.0, 0.0, 0.0)}
    lines = (("a1", "base"), ("a2", "base"), ("a1", "a2"))
    spots = read_places(Geometry(places, lines), CHANNELS)
    assert spots["a1"].follows == {"a1": "x", "a2": "y"} and spots["a1"].to == ("base",)
    made = data(shape_animation(modes(), spots))
    assert len(made["beams"]) == 1 and made["names"][-1]["name"] == "far"
    with warns(IdentificationWarning, "unknown-name", "a7") as caught:
        found = read_places(Geometry({"a1": (0.0, 0.0, 1.0, "x"), "a7": (0.0, 0.0, 2.0, "x")}), CHANNELS)
    assert found["a7"].follows == {} and [one.message.code for one in caught] == ["unknown-name", "no-place"]


def test_channels_of_universal_files_move_the_node_they_name() -> None:
    shapes = Modes([1j], [[1.0], [0.5]], ["12+X", "12-Z"])
    spots = read_places(Geometry({"11": (0.0, 0.0, 0.0), "12": (0.0, 0.0, 1.0)}), shapes.coordinates)
    assert spots["12"].follows == {"12+X": "x", "12-Z": "-z"}


# ---- oblique sensors, rigid floors, places that follow others


def test_oblique_sensors_at_one_place_give_the_displacement_that_they_measure() -> None:
    rng = np.random.default_rng(1)
    ways = rng.normal(size=(3, 3))
    places = {f"s{k}": (0.0, 0.0, 1.0, tuple(way)) for k, way in enumerate(ways)}
    truth = rng.normal(size=3)
    units = ways / np.linalg.norm(ways, axis=1)[:, None]
    for count in (1, 2, 3):
        channels = list(places)[:count]
        found = find_motion(read_places({name: places[name] for name in channels}, channels), channels)[0]
        moved = found @ (units[:count] @ truth)
        assert units[:count] @ moved == pytest.approx(units[:count] @ truth)  # every sensor sees what it measured
        assert np.linalg.norm(moved) <= np.linalg.norm(truth) + 1e-12  # and nothing else moves
    assert moved == pytest.approx(truth)


@given(st.integers(0, 10_000))
def test_a_rigid_floor_moves_as_its_sensors_do(seed: int) -> None:
    """Six sensors in general directions determine the motion of a plate; its other corners move with it."""
    rng = np.random.default_rng(seed)
    at, ways = rng.uniform(-3.0, 3.0, size=(6, 3)), rng.normal(size=(6, 3))
    rows = np.hstack([ways, np.cross(at - at.mean(axis=0), ways)])
    assume(np.linalg.cond(rows) < 1e4)
    shift, turn, corner = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    names = [f"s{k}" for k in range(6)]
    places = {name: (*map(float, p), tuple(map(float, n))) for name, p, n in zip(names, at, ways)}
    places["corner"] = tuple(map(float, corner))
    geometry = Geometry(places, None, {"floor": (*names, "corner")})
    units = ways / np.linalg.norm(ways, axis=1)[:, None]
    measured = np.einsum("ij,ij->i", units, shift + np.cross(turn, at))
    found = find_motion(read_places(geometry, names), names) @ measured
    # condition 1e4, and the rotation is scaled by 1e-3: ε 1e7
    assert found[-1] == pytest.approx(shift + np.cross(turn, corner), abs=1e-6)


def test_a_floor_of_which_two_directions_are_known_does_not_turn() -> None:
    places = {"a1": (0.0, 0.0, 3.0, "x"), "a2": (0.0, 0.0, 3.0, "y"), "far": (4.0, 3.0, 3.0)}
    found = find_motion(read_places(Geometry(places, None, {"top": ("a1", "far")}), CHANNELS), CHANNELS)
    assert found[1] @ [1.0, 0.5] == pytest.approx([1.0, 0.5, 0.0], abs=1e-5)


def test_places_that_follow_others_move_by_their_weights() -> None:
    places = {"a1": (0.0, 0.0, 1.0, "x"), "a2": (4.0, 0.0, 1.0, "y"), "mid": (2.0, 0.0, 1.0), "end": (5.0, 0.0, 1.0)}
    geometry = Geometry(places, None, {}, {"end": {"mid": 2.0}, "mid": {"a1": 0.5, "a2": 0.5}})
    made = data(shape_animation(modes(((1.0, 1.0), (0.5, -1.0))), read_places(geometry, CHANNELS)))
    spots = made["shapes"][0, :4]
    assert spots[2] == pytest.approx(0.5 * (spots[0] + spots[1])) and spots[3] == pytest.approx(2.0 * spots[2])
    assert "fixed" not in made["marks"]
