"""The study of the tilting tricycle: regression values of an independent implementation with difference quotients.

Those values have six digits of matrices and five of eigenvalues; 1e-3 is the tolerance that their origin states. The
matrices agree to 1e-5 of their largest entry, which is the error of the quotients.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from dalembert.studies import runner
from dalembert.studies.symbolic import tricycle as study
from dalembert.symbolic.modular import modular_model

DIGITS = 1e-3
EIGENVALUES = {
    0: (-3.2538, -3.0090, 3.0090, 3.2538), 1: (-3.7970, -3.2807, 2.6312 + 0.8972j),
    2: (-4.2681, -3.3567, 1.9971 + 1.6789j),
    3: (-5.2745, -2.3805, 1.1046 + 2.5910j), 4: (-6.4251, -0.9731, 0.0686 + 4.0491j),
    5: (-7.6492, -0.4145, -0.5063 + 5.7675j), 8: (-11.5286, -0.0960, -1.4487 + 10.4204j),
    10: (-14.1952, -0.0533, -1.9520 + 13.3475j), 20: (-27.8014, -0.0122, -4.2457 + 27.5277j),
}  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Any:
    return modular_model(study.tricycle())


@pytest.fixture(scope="module")
def printed(model: Any) -> Any:
    return study.lateral(study.linear_models(model, {}))


@pytest.mark.spec("002-J2", "002-A12")
def test_the_tree_has_44_constraints_between_41_rates(model: Any) -> None:
    rows = [one for one in model.motion.invariants if one.owner == ""]
    assert len(rows) == 44
    tops = [part.own.independent for part in model.root.parts]
    assert sum(len(names) for names in tops) == 41
    assert [part.name for part in model.root.parts] == ["A", "W", "FR", "SR", "KR", "FL", "SL", "KL"]
    assert [part.name for part in model.root.parts[0].parts] == ["B", "H", "P", "Q"]


@pytest.mark.spec("002-T15", "002-J2", "002-G7")
@pytest.mark.slow
def test_matrices_of_the_printed_dimensions(printed: Any) -> None:
    expected = {
        "M": [[0.288191, 1.993001], [1.993001, 92.617421]],
        "C1": [[1.187140, -0.253183], [39.342719, 31.913502]],
        "K0": study.GRAVITY * np.array([[-0.310602, -2.169388], [-2.388778, -89.541462]]),
        "K2": [[1.096045, 0.912619], [50.727281, 42.237888]],
    }
    assert printed.names == ("steer", "lean")
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(printed, name), values, rtol=1e-5, atol=1e-6)


@pytest.mark.spec("002-T15", "002-G8")
def test_eigenvalues_of_the_printed_dimensions(printed: Any) -> None:
    for v, expected in EIGENVALUES.items():
        found = printed.eigenvalues(v)
        for value in expected:
            gap = float(np.abs(found - value).min())
            assert gap < max(DIGITS * abs(value), 6e-5)  # five printed decimals


@pytest.mark.spec("002-T15", "002-G8")
def test_speeds_at_which_the_modes_change(printed: Any) -> None:
    found = study.summarize(printed)
    assert found["steer_lean_pole_speed"] == pytest.approx(0.0234, rel=3e-3)  # three digits; published: about 0.02
    assert found["weave_merging_speed"] == pytest.approx(0.042, rel=1e-2)
    assert found["weave_stable_above"] == pytest.approx(4.089, rel=DIGITS)
    assert found["capsize_speed"] is None
    assert found["capsize_phase_jumps"] == pytest.approx([0.80, 4.69], abs=6e-3)  # two decimals
    fast = 200.0
    modes = study.named_modes(printed, fast)
    assert abs(printed.ratio(fast, modes["weave"][0], "steer", "lean")) == pytest.approx(2.12, abs=5e-3)
    assert abs(printed.ratio(fast, modes["capsize"], "steer", "lean")) == pytest.approx(0.83, abs=5e-3)


def dynamic(found: Any, v: float, value: complex) -> Any:
    """λ² M + λ v C₁ + K₀ + v² K₂, singular at an eigenvalue."""
    return value**2 * found.M + value * v * found.C1 + found.K0 + v**2 * found.K2


@pytest.mark.spec("002-G8")
def test_the_table_of_eigenvectors_solves_the_equations_at_every_speed(printed: Any) -> None:
    """Steer per unit of lean from the first equation alone, -D₁₂/D₁₁; three decimals and whole degrees are printed."""
    rows = study.eigenvector_table(printed, study.SPEEDS[1:])
    assert [float(row[0]) for row in rows] == list(study.SPEEDS[1:])
    for row in rows:
        v = float(row[0])
        modes = study.named_modes(printed, v)
        for cell, value in zip(row[1:], (modes["castering"], modes["capsize"], modes["weave"][0]), strict=True):
            D = dynamic(printed, v, complex(value))
            ratio = -D[0, 1] / D[0, 0]
            assert abs(D[1, 0] * ratio + D[1, 1]) < 1e-9 * np.abs(D).max()  # the second equation holds too
            size, phase = (float(text) for text in cell.split(", "))
            assert size == pytest.approx(abs(ratio), abs=5.1e-4)
            assert phase == pytest.approx(abs(np.degrees(np.angle(ratio))), abs=0.51)


@pytest.mark.slow
@pytest.mark.spec("002-G8")
def test_scattered_dimensions_have_ranges_of_stability_at_whose_ends_an_eigenvalue_crosses(model: Any) -> None:
    """Eight draws within 4 %, the trail from -2 to 11 of its value; of two of them the model and its ranges."""
    drawn = study.draw_dimensions()
    assert len(drawn) == 8
    for one in drawn:
        assert set(one) == set(study.GEOMETRY)
        for name, value in study.GEOMETRY.items():
            share = one[name] / value if value else 1.0
            assert -2.0 <= share <= 11.0 if name == "trail" else 0.96 <= share <= 1.04
    shares = np.array([[one[name] / value for name, value in study.GEOMETRY.items() if value] for one in drawn])
    assert (np.ptp(shares, axis=0) > 0.02).all() and np.ptp(shares[:, list(study.GEOMETRY).index("trail")]) > 5
    for changes in sorted(drawn, key=lambda one: abs(one["trail"]))[:2]:  # the smallest trails are stable somewhere
        found = study.judge_scenario(model, changes)
        edges = [v for pair in found["self_stable_m_s"] for v in pair if v is not None]
        assert edges and found["trail_m"] == changes["trail"]
        for v in edges:
            values = found["model"].eigenvalues(v)
            critical = values[np.argmax(values.real)]
            assert abs(critical.real) < 1e-7
            assert abs(np.linalg.det(dynamic(found["model"], v, 1j * critical.imag))) < 1e-5
            either = [float(found["model"].eigenvalues(v + d).real.max()) for d in (-1e-3, 1e-3)]
            assert min(either) < 0 < max(either)


@pytest.mark.slow
@pytest.mark.spec("002-T15", "002-G8")
def test_the_study_of_the_tricycle_writes_its_results_and_report(tmp_path: Any) -> None:
    written = runner.run("tricycle", tmp_path, progress=False)
    names = {file.name for file in written.files}
    assert names == {"stability.png", "ratios.png", "repairs.png", "report.html", "results.json"}
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert found["capsize_speed"] is None
    assert len(found["eigenvalues"]) == len(found["speeds"]) == 9
    for v, row in zip(found["speeds"], found["eigenvalues"], strict=True):
        for value in EIGENVALUES[int(v)]:
            assert min(abs(complex(*one) - value) for one in row) < max(DIGITS * abs(value), 6e-5)
    # dimensions that close: the heading has no influence, and capsize becomes unstable, as published
    for one, expected in zip(found["repairs"], ((3.19, 3.55), (3.48, 3.91)), strict=True):
        assert one["heading_influence"] < 1e-10
        assert one["self_stable_m_s"][0] == pytest.approx(expected, abs=6e-3)
        assert one["capsize_speed"] == pytest.approx(expected[1], abs=6e-3)
    assert found["heading_influence"] > 1.0
    assert [one["trail_m"] for one in found["scenarios"]] == [one["trail"] for one in study.draw_dimensions()]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "do not follow from the printed dimensions" in text
