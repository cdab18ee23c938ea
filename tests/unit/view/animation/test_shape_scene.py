"""Mode shapes at sensors: places as users say them, and what the page gets to draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.files.modal.geometry import Geometry
from dalembert.identify import IdentificationWarning, Identified
from dalembert.linear.modes import Modes
from dalembert.view.animation.shape_scene import Spot, read_places, shape_animation
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
