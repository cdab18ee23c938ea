"""Studies of observers, unknown forces and tolerances, from end to end."""

from __future__ import annotations

import json

import pytest

from dalembert.studies import monte_carlo, runner


@pytest.mark.slow
def test_the_slider_crank_study_tells_its_figures_beside_those_of_the_source(tmp_path):
    written = runner.run("slider-crank-observer", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert found["crossings_s"]["found"] == pytest.approx([2.618, 2.884], abs=1e-3)
    assert set(found["without_switching"]) == {"EKF", "SS-UKF"}
    for some in found["rms"].values():
        assert some["SS-UKF"]["A.rate"] == pytest.approx(some["EKF"]["A.rate"], rel=0.05)
    schemes = found["schemes_rms"]
    assert schemes["3, both (as in the source)"]["A.rate"] == pytest.approx(
        schemes["1, constraint"]["A.rate"], rel=1e-9
    )
    assert {file.name for file in written.files} == {
        "turning.html", "crossing.png", "drift.png", "breakdown.png", "window.png", "report.html", "results.json",
    }  # fmt: skip
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "25.15 s for 30 s" in page
    assert "What was assumed" in page


@pytest.mark.slow
def test_the_two_link_study_tells_its_figures_beside_those_of_the_source(tmp_path):
    runner.run("two-link-observer", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    for name in ("TEST 1", "TEST 2"):
        assert found[name]["filters_apart_percent"] < 2.0
        assert found[name]["better_than_lanczos"]["B.rate"] > 4
        assert found[name]["better_than_lanczos"]["B.acceleration"] > 10
    assert "EKF 6.65 s" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_study_of_slider_forces_tells_its_figures_beside_those_of_the_source(tmp_path):
    runner.run("slider-crank-forces", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert found["source"]["two-stage"]["EKF"] == {"speed": 0.0842, "acceleration": 1.8226, "force": 4.4267}
    for kinds in found["swinging"].values():  # 004-3.3, T3.3b and T3.3d
        for name in ("speed", "acceleration", "force"):
            assert kinds["SS-UKF"][name] == pytest.approx(kinds["EKF"][name], rel=0.03)
    two = found["swinging"]["two-stage"]["EKF"]
    assert two["speed"] < 0.06 and two["acceleration"] < 1.5 and two["force"] < 5.0
    single = [row["single-stage"]["speed"] for row in found["walks"]]  # T3.3c
    assert max(single) > 10 * min(single)
    assert len({row["two-stage"]["speed"] for row in found["walks"]}) == 1
    assert not any(row["motion_changed"] for row in found["walks"])
    assert found["forms"]["unknown-from-known, loose"] == pytest.approx(
        found["forms"]["known-from-unknown, loose"], rel=0.1
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "0.0842 / " in page
    assert "why they differ" in page
    assert "a pose where force moves nothing" in page


@pytest.mark.slow
def test_the_excavator_study_tells_its_figures_beside_the_words_of_the_source(tmp_path):
    written = runner.run("excavator", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {file.name for file in written.files} == {"digging.html", "forces.png", "report.html", "results.json"}
    assert all(abs(late) < 0.016 for late in found["delay_s"].values())
    assert found["random_walk"]["dig.x"] > found["band_10_Hz"]["dig.x"]
    assert found["random_walk"]["dig.z"] > found["band_10_Hz"]["dig.z"]
    assert found["band_10_Hz"]["payload"] < 3e3
    assert "everywhere on this motion" in found["verdict"]
    assert "do not act independently of one another" in found["verdict_bucket_down"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "9.27 s" in page
    assert "What was assumed" in page


@pytest.mark.slow
def test_the_study_of_tolerances_tells_spread_and_its_reasons(tmp_path, monkeypatch):
    small = monte_carlo.design(12)
    monkeypatch.setattr(monte_carlo, "design", lambda: small)
    runner.run("monte-carlo", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    nominal = monte_carlo.trial(dict.fromkeys(small.names, 1.0))
    assert found["samples"] == 12
    for key, name in (("peak_torque", "peak torque"), ("swing", "swing"), ("bearing", "bearing")):
        one = found[key]
        assert one["mean"] == pytest.approx(nominal[name], rel=0.02)  # three deviations of a mean of twelve
        assert one["interval_95"][0] < one["mean"] < one["interval_95"][1]
        assert set(one["share_of_variance"]) == set(small.names)
    assert "12 crank-rockers" in (tmp_path / "report.html").read_text(encoding="utf-8")
