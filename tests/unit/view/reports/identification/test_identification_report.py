"""The page on an identification: what a test engineer looks for comes first; texts stay texts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.view.reports import origin
from dalembert.view.reports.identification.identification_report import (
    add_workbench,
    class_tables,
    identification_pieces,
)
from dalembert.view.reports.identification.workbench import evidence_of_auto, evidence_of_model, workbench_data
from dalembert.view.reports.pages import Heading, Moving, Picture, Table, Text, Workbench, data_text, html_page
from tests.helpers.measured_frames import measured

PLACES = {"ground": (0, 0), "a1": (0, 1, "x"), "a2": (0, 2, "-x")}


@pytest.fixture(scope="module")
def found() -> Any:
    return da.identify.auto(measured(2000), "force", refined=False)


@pytest.fixture(scope="module")
def pieces(found: Any) -> list[Any]:
    return identification_pieces(found, places=PLACES)


def test_the_page_begins_with_the_result_response_diagram_modes_and_shapes(pieces: list[Any]) -> None:
    kinds = [(type(one), getattr(one, "name", getattr(one, "text", ""))) for one in pieces]
    assert kinds[0][0] is Text and "3 modes are sound" in pieces[0].text
    assert kinds[1:4] == [(Picture, "frf"), (Picture, "stabilization"), (Heading, "Modes")]
    assert [kind for kind, _ in kinds[4:8]] == [Table, Moving, Picture, Picture]
    assert [name for kind, name in kinds[6:8]] == ["shapes", "mac"]
    later = [name for kind, name in kinds[8:] if kind is not Table]
    assert later.index("Steps and reasons") < later.index("Cross-validation") < later.index("residuals")
    assert "coherence above 0.9" in pieces[1].caption and "3 sound" in pieces[2].caption


def test_modes_stand_in_tables_of_their_class_with_evidence_and_reasons(found: Any) -> None:
    from dataclasses import replace

    first, second, third = found.judgements
    doubtful = replace(second, grade="uncertain", reasons=("parts", "deviations"))
    fitted = replace(third, grade="of the fit only", reasons=("not-excited",))
    mixed = replace(found, judgements=(first, doubtful, fitted))
    sound, uncertain, rest = class_tables(mixed)
    assert [len(one.rows) for one in (sound, uncertain, rest)] == [1, 1, 1]
    assert sound.head[:5] == (
        "mode",
        "frequency [Hz]",
        "damping ratio [%]",
        "phase collinearity",
        "MAC, nearest (mode)",
    )
    assert sound.rows[0][4].endswith("(2)")  # the other mode that is not of the fit only
    assert "halves of the record" in uncertain.rows[0][-1] and "deviations" in uncertain.rows[0][-1]
    assert rest.folded and not sound.folded and "against it" not in sound.head


def test_the_data_of_the_workbench_hold_poles_modes_and_places(found: Any) -> None:
    evidence = evidence_of_auto(found)
    from dalembert.view.animation.shape_scene import read_places

    data = workbench_data(evidence, spots=read_places(PLACES, found.identified.outputs), files={"run.csv": "0" * 64})
    assert data is not None
    assert len(data["poles"]["hz"]) == len(found.stabilization.orders) and len(data["modes"]) == 3
    assert [one["class"] for one in data["modes"]] == ["sound"] * 3 and len(data["first"]) == 3
    assert [data["poles"]["mode"][k] for k in data["first"]] == [0, 1, 2]
    assert data["places"]["spots"][2] == {"name": "a2", "at": [0.0, 2.0, 0.0], "moves": [[1, 0, -1]]}
    assert data["choice"]["files"] == [{"name": "run.csv", "sha256": "0" * 64}]
    assert data["choice"]["diagram"] == {"method": "moesp", "rows": found.identified.provenance["rows"]}
    pair = data["response"]["pairs"][1]
    assert pair["name"] == "a2" and len(pair["re"]) == len(data["response"]["hz"]) == len(pair["coherence"])
    # lines of the model at its peaks: the largest is that of the model at the damped frequencies, but for 1e-3
    top = np.abs(pair["model"]["re"] + 1j * pair["model"]["im"]).max()
    w = np.linspace(*(2 * np.pi * np.array([1.0, 8.0])), 200_001)
    assert top == pytest.approx(np.abs(found.identified.system.frequency_response(w)["a2", "force"]).max(), rel=1e-3)
    read = json.loads(data_text(data))
    assert set(read["poles"]["hz"]) == {"f4"} and read["outputs"] == ["a1", "a2", "a3"]


@pytest.mark.slow
def test_a_model_of_one_method_has_its_response_and_diagram_but_no_choice(found: Any, tmp_path: Any) -> None:
    record = measured(1500)
    model = da.identify.n4sid(record, "force", order=6)
    evidence = evidence_of_model(model, [record])
    assert evidence.drawn is not None and evidence.drawn.method == "n4sid"
    data = workbench_data(evidence, spots=None, files=None)
    assert data is not None and data["choice"] is None and data["response"]["kind"] == "frf"
    da.report(model, tmp_path / "page.html", records=record)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.index('class="workbench"') < page.index("<h2>Modes</h2>") < page.index("<h2>Played back</h2>")


def test_no_text_can_end_the_element_of_the_data(found: Any, pieces: list[Any]) -> None:
    evil = "</script><img src=x onerror=alert(1)><!-- &amp; "
    assert not set(data_text({"name": evil})) & set("<>&")
    assert json.loads(data_text({"name": evil}))["name"] == evil
    page = html_page("Modes", [Workbench({"name": evil}, ())])
    assert page.count("</script>") == 2 and "<img" not in page  # the data, and the script


def test_the_workbench_holds_the_pictures_that_stand_for_it(found: Any, pieces: list[Any]) -> None:
    made = add_workbench(pieces, evidence_of_auto(found), None, {})
    (bench,) = (one for one in made if isinstance(one, Workbench))
    assert made.index(bench) == 1 and [one.name for one in bench.pictures] == ["frf", "stabilization"]
    assert len(made) == len(pieces) - 1


def test_files_go_into_the_entries_of_a_page_and_out_again(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_bytes(b"1")
    entries = origin.file_entries([tmp_path / "a.csv"])
    (digest,) = entries.values()
    assert origin.find_files({**entries, "seed": 3, "model hash (SHA-256)": "ff"}) == {"a.csv": digest}
