"""The page of a derivation: symbols, steps, formulas; no script, no address."""

from __future__ import annotations

import re

import dalembert as da
from dalembert.view.reports.equations_page import equations_page


def test_the_page_has_every_symbol_step_and_formula() -> None:
    d = da.symbolic.from_mechanism(da.read_model("four-bar"))
    text = equations_page(d)
    for name in (*d.system.coordinate_names, *d.system.parameter_values, "torque"):
        assert f"<td>{name}</td>" in text
    titles = re.findall(r"<h2>(.*?)</h2>", text)
    assert titles == [
        "Symbols", "Kinetic energy", "Potential energy", "Constraints", "Equations of motion", "Provenance",
    ]  # fmt: skip
    assert text.count('<div class="formula">') == 9  # T, V, φ = 0, φ, the equations, M, f, A, b
    assert "<td>0.2</td>" in text and "8 constraint rows" in text


def test_the_page_asks_nobody_for_anything() -> None:
    text = equations_page(da.symbolic.from_mechanism(da.read_model("pendulum"), "lagrange"))
    assert "<script" not in text and "http" not in text.replace("http-equiv", "")
    assert "default-src 'none'" in text
