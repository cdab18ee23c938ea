"""What a notebook shows of machines, records and modes."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.tables import matrix_lines, spread
from dalembert.linear import Modes


def test_a_record_shows_its_channels_escaped_with_unit_and_range() -> None:
    shown = da.Record([0.0, 1.0], [[1.0, -2.0], [3.0, 4.5]], ["<b>", "place"], ["", "m"], name="<i>")._repr_html_()
    assert "<td>place</td><td>m</td><td>-2</td><td>4.5</td>" in shown
    assert "&lt;b&gt;" in shown and "&lt;i&gt;" in shown and "<i>" not in shown
    many = da.Record([0.0], [range(100)], [f"c{k}" for k in range(100)])._repr_html_()
    assert "and 60 more" in many and "c39" in many and "c40" not in many
    before, _, folded = many.partition("<details><summary>90 more</summary>")  # the plot below stays on the screen
    assert before.count("<tr><td>") == 10 and folded.count("<tr><td>") == 30


def test_a_mechanism_shows_its_parts() -> None:
    m = da.read_model("quarter-car")
    shown = m._repr_html_()
    assert all(f"<td>{part.name}</td>" in shown for part in [*m.bodies, *m.joints, *m.sensors])
    assert "<td>prismatic</td>" in shown


def test_modes_show_their_table() -> None:
    shown = Modes([2j, -1.0], [[1.0, 1.0]], ["x"])._repr_html_()
    assert "<th>frequency [Hz]</th>" in shown and "<td>oscillation</td>" in shown and "<td>decay</td>" in shown


# ---- edges of thresholds


@pytest.mark.parametrize(
    ("value", "deviation", "text"),
    [
        (9e-4, 9e-5, "0.0009 ± 9.0e-05"), (2e-3, 9e-5, "0.002000 ± 0.000090"), (9e-4, 2e-4, "0.00090 ± 0.00020"),
        (1.0, 3e-9, "1.0000000000 ± 0.0000000030"), (1.0, 3e-10, "1.000000000 ± less than 1e-9"),
    ],
)  # fmt: skip
def test_a_number_has_the_digits_that_its_deviation_allows(value: float, deviation: float, text: str) -> None:
    assert spread(value, deviation) == text


@pytest.mark.parametrize(("large", "small", "shown"), [(1.0, 1e-15, "0"), (1.0, 1e-14, "1e-14"),
                                                       (1e6, 3e-13, "0"), (1e6, 3e-12, "3e-12")])  # fmt: skip
def test_what_rounding_leaves_of_a_difference_is_written_as_zero(large: float, small: float, shown: str) -> None:
    (line,) = matrix_lines("A", np.array([[large, small]]), ["row"])
    assert line.split()[-1] == shown
