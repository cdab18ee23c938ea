"""Data of a page: packed, compressed, with the precision that the eye needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.record import Record
from dalembert.view.animation import payload
from dalembert.view.animation.channels import channels_of
from dalembert.view.animation.payload import as_text
from tests.helpers.payload import unpack


def turning(**more: Any) -> Record:
    t = np.linspace(0.0, 1.0, 31)
    channels = {"b.x": np.cos(t), "b.y": np.sin(t), "b.angle": t, "push": 2.0 * t}
    scene = {"planar": True, "bodies": [{"name": "b", "points": [[0, 0, 0], [1, 0, 0]], "lines": [[0, 1]]}], **more}
    return Record.from_channels(t, channels, name="turning", scene=scene)


@pytest.mark.parametrize("count", [3, 10_000])
def test_what_is_packed_is_unpacked_plain_or_compressed(count: int) -> None:
    data = {"name": "é</script>", "list": [1, None, {"a": np.arange(count)}], "x": np.linspace(0, 1, count)}
    packing, text = payload.as_text(data)
    assert packing == ("plain" if count == 3 else "gzip")
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    back = unpack(packing, text)
    assert back["name"] == data["name"]
    assert back["list"][2]["a"].tolist() == list(range(count))
    assert back["x"] == pytest.approx(np.linspace(0, 1, count), abs=2**-24)


def test_numbers_that_single_precision_would_spoil_are_kept_in_double() -> None:
    angle = np.linspace(0.0, 1e5, 7)
    back = unpack(*payload.as_text({"small": angle / 1e5, "large": angle}))
    assert back["small"].dtype == np.float32
    assert back["large"].tolist() == angle.tolist()


def test_the_same_data_gives_the_same_page() -> None:
    assert da.animate(turning()).html == da.animate(turning()).html


def test_long_rows_are_stored_by_differences_and_come_back() -> None:
    t = np.linspace(0.0, 10.0, 2000)
    rows = np.stack([np.sin(3 * t), 1e6 + t**2, 0 * t, 1e-9 * np.cos(t), np.where(t > 5, 1.0, -1.0)])
    found = unpack(*as_text({"rows": rows}))["rows"]
    allowed = np.ptp(rows, axis=1) * 2.0**-20 + 1e-15 * np.abs(rows).max(axis=1)
    assert (np.abs(found - rows).max(axis=1) <= allowed).all()


def long_chain(samples: int, bodies: int) -> Record:
    t = np.linspace(0.0, samples * 1e-3, samples)
    channels, drawn = {}, []
    for k in range(bodies):
        angle = 0.3 * np.sin((1 + 0.05 * k) * t)
        channels |= {f"b{k}.x": 0.1 * k + 0.05 * np.cos(angle), f"b{k}.y": 0.05 * np.sin(angle), f"b{k}.angle": angle}
        drawn.append({"name": f"b{k}", "points": [[-0.05, 0, 0], [0.05, 0, 0]], "lines": [[0, 1]]})
    scene = {"planar": True, "bodies": drawn, "ground": [[0, 0, 0]], "joints": [], "springs": []}
    return Record.from_channels(t, channels, name="chain", scene=scene)


def test_a_hundred_thousand_samples_make_a_page_below_five_megabytes() -> None:
    assert len(da.animate(long_chain(100_000, 8)).html) < 2_000_000


@pytest.mark.slow
def test_a_hundred_bodies_over_a_hundred_seconds_make_a_page_below_five_megabytes() -> None:
    assert len(da.animate(long_chain(100_000, 100)).html) < 5_000_000


def test_many_channels_have_fewer_samples_rather_than_being_left_out() -> None:
    run = long_chain(6000, 200)
    found = channels_of(run)
    assert len(found["names"]) == 600
    assert 1000 <= found["values"].shape[1] <= 2000
