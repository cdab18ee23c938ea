"""Diagrams on both sides of a point load, and values that are too small for one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.view.plots.structures import statics
from dalembert.view.plots.structures.statics import _forces_along


def test_a_point_load_has_places_a_billionth_of_the_element_before_and_behind_it():
    group = SimpleNamespace(points=np.zeros((1, 2)), length=np.array([2.0]))
    loaded = SimpleNamespace(
        group=group, at_element=np.array([0]), at_place=np.array([0.9]), forces=lambda e, x: np.zeros((len(e), 6))
    )
    xi, _ = _forces_along(loaded)
    near = np.abs(xi[0] - 0.45) < 1e-3
    assert np.diff(xi[0, near]) == pytest.approx([2e-9], rel=1e-3)


class Canvas:
    """A stage that keeps what is drawn."""

    def __init__(self) -> None:
        self.areas_drawn = self.diagrams = 0
        self.texts: list[str] = []

    def lines(self, lines, *, label="", **how):
        self.diagrams += len(lines) * (label == "diagram")

    def areas(self, areas, **how):
        self.areas_drawn += len(areas)

    def text(self, place, text, **how):
        self.texts.append(text)

    def finish(self, **how):
        """Nothing is shown."""


def diagram(monkeypatch, *bending: float, axial: float = 0.0) -> tuple[Canvas, str]:
    """Diagram of moments of beams with these constant ones, and its title."""
    count, canvas, titles = len(bending), Canvas(), []
    values = np.zeros((count, 2, 6))
    values[:, :, statics.FORCES.index("M_z")] = np.array(bending)[:, None]
    values[:, :, statics.FORCES.index("N")] = axial
    group = SimpleNamespace(
        beams=tuple(map(str, range(count))), first=np.arange(count + 1), R=np.tile(np.eye(3), (count, 1, 1))
    )
    structure = SimpleNamespace(name="frame", positions=np.array([[0.0, 0, 0], [1.0, 0, 0]]))

    def stand(solution, reach, title):
        titles.append(title)
        return None, canvas

    monkeypatch.setattr(statics, "_loaded_beams", lambda solution: [SimpleNamespace(group=group)])
    monkeypatch.setattr(statics, "_forces_along", lambda one: (np.zeros((count, 2)), values))
    monkeypatch.setattr(statics, "_stage", stand)
    monkeypatch.setattr(statics, "_load", lambda solution: "load")
    monkeypatch.setattr(statics.geometry, "rest_lines", lambda *given: np.zeros((count, 2, 3)))
    monkeypatch.setattr(statics.geometry, "thickness", lambda group: 1.0)
    monkeypatch.setattr(statics.structures, "draw_marks", lambda *given: None)
    monkeypatch.setattr(statics.stage, "fit", lambda *given: None)
    statics._diagram(SimpleNamespace(structure=structure), "moment", None, None)
    return canvas, titles[0]


@pytest.mark.parametrize(("moment", "drawn"), [(1.9e-3, 1), (2.1e-3, 2)])
def test_a_diagram_is_drawn_from_two_thousandths_of_the_largest_value(moment, drawn, monkeypatch):
    canvas, _ = diagram(monkeypatch, 1.0, moment)
    assert (canvas.areas_drawn, canvas.diagrams) == (drawn, drawn)


@pytest.mark.parametrize(("moment", "written"), [(0.019, 1), (0.021, 2)])
def test_a_value_is_written_from_a_fiftieth_of_the_largest(moment, written, monkeypatch):
    assert len(diagram(monkeypatch, 1.0, moment)[0].texts) == written


@pytest.mark.parametrize(("moment", "zero"), [(0.9e-9, True), (1.1e-9, False)])
def test_moments_of_a_billionth_of_the_forces_are_rounding(moment, zero, monkeypatch):
    canvas, title = diagram(monkeypatch, moment, axial=1.0)
    assert (not canvas.texts, "zero everywhere" in title) == (zero, zero)
