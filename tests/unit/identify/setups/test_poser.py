"""Pairing, scaling and averaging of modes of several set-ups."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.setups.one_quantity import Conversion
from dalembert.identify.setups.poser import SetupModes, join_setups
from dalembert.linear import Modes

REFERENCES = ("r1", "r2")
PLAIN = Conversion({}, {}, "")
SHAPES = np.array([[1.0, 0.8], [0.5, -1.0], [0.7, 0.3], [0.2, 0.9], [0.4, -0.6]])  # r1 r2 a b c, two modes


def setup(own: list[str], hertz: list[float], *, factor: complex = 1.0, deviation: float | None = None,
          shapes: np.ndarray = SHAPES) -> SetupModes:  # fmt: skip
    names = ["r1", "r2", "a", "b", "c"]
    rows = [names.index(name) for name in (*REFERENCES, *own)]
    f = np.array(hertz)
    modes = Modes(2j * np.pi * f, factor * shapes[rows][:, : len(f)], (*REFERENCES, *own))
    sd = None if deviation is None else np.full(len(f), deviation)
    return SetupModes(modes, f, np.full(len(f), 0.01), sd, sd, {}, {}, {})


def test_shapes_are_scaled_at_the_references_and_joined() -> None:
    found = [setup(["a"], [2.0, 5.0]), setup(["b"], [2.01, 4.98], factor=-3j), setup(["c"], [1.99, 5.02], factor=0.2)]
    merged = join_setups(found, REFERENCES, [("a",), ("b",), ("c",)], None, PLAIN, [])
    assert merged.outputs == ("r1", "r2", "a", "b", "c")
    true = Modes([1j, 2j], SHAPES, merged.outputs)
    assert np.diagonal(merged.modes.mac(true)) == pytest.approx(1.0, abs=1e-12)
    assert merged.frequencies_hz == pytest.approx([2.0, 5.0], rel=1e-4)  # and √(1 - ζ²) does not matter
    # (0.00, 0.01, -0.01) have the standard deviation 0.01, their mean 0.01/√3
    assert merged.frequency_deviations_hz == pytest.approx([0.01 / np.sqrt(3.0), 0.02 / np.sqrt(3.0)])
    assert merged.reference_mac == pytest.approx(1.0)
    assert merged.findings == ()


def test_means_are_weighted_by_deviations() -> None:
    found = [setup(["a"], [2.00], deviation=0.001), setup(["b"], [2.01], deviation=0.01)]
    merged = join_setups(found, REFERENCES, [("a",), ("b",)], None, PLAIN, [])
    assert merged.frequencies_hz[0] == pytest.approx((2.00 * 1e6 + 2.01 * 1e4) / (1e6 + 1e4))
    # 1/√Σ1/σ² = 0.000995, and √(Σ w (f - mean)²/(n - 1)) by their scatter = 0.000990
    assert merged.frequency_deviations_hz[0] == pytest.approx(0.000995, rel=1e-3)


def test_set_ups_that_scatter_more_than_their_equal_deviations_give_the_deviation_of_a_plain_mean() -> None:
    made = []
    for deviation in (None, 1e-6):
        found = [setup(["a"], [2.00], deviation=deviation), setup(["b"], [2.02], deviation=deviation)]
        made.append(join_setups(found, REFERENCES, [("a",), ("b",)], None, PLAIN, []).frequency_deviations_hz[0])
    assert made == pytest.approx([0.01, 0.01])  # half the difference of two


def test_modes_pair_within_three_per_cent_and_a_mac_of_0_8() -> None:
    within = join_setups(
        [setup(["a"], [2.0]), setup(["b"], [2.0 * 1.029])], REFERENCES, [("a",), ("b",)], None, PLAIN, []
    )
    beyond = join_setups(
        [setup(["a"], [2.0]), setup(["b"], [2.0 * 1.031])], REFERENCES, [("a",), ("b",)], None, PLAIN, []
    )
    assert len(within.modes) == 1 and len(beyond.modes) == 0
    assert [one.code for one in beyond.findings] == ["unpaired-mode"] * 2  # of either set-up
    for mac, count in ((0.81, 1), (0.79, 0)):
        turned = SHAPES.copy()
        angle = np.arccos(np.sqrt(mac))
        turned[:2, 0] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]] @ SHAPES[:2, 0]
        found = [setup(["a"], [2.0]), setup(["b"], [2.0], shapes=turned)]
        assert len(join_setups(found, REFERENCES, [("a",), ("b",)], None, PLAIN, []).modes) == count


def test_close_modes_pair_by_shape_and_not_by_order() -> None:
    swapped = SHAPES[:, ::-1].copy()
    found = [setup(["a"], [5.0, 5.02]), setup(["b"], [5.0, 5.02], shapes=swapped)]
    merged = join_setups(found, REFERENCES, [("a",), ("b",)], None, PLAIN, [])
    assert merged.setup_frequencies_hz.T.tolist() == [[5.0, 5.02], [5.02, 5.0]]


def test_references_near_a_node_are_a_finding() -> None:
    still = SHAPES.copy()
    still[:2, 1] = [0.02, -0.01]
    found = [setup(["a"], [2.0, 5.0], shapes=still), setup(["b"], [2.0, 5.0], shapes=still)]
    merged = join_setups(found, REFERENCES, [("a",), ("b",)], None, PLAIN, [])
    assert [one.code for one in merged.findings] == ["node"]
    assert merged.findings[0].evidence == {"hertz": 5.0, "setups": [1, 2]}
