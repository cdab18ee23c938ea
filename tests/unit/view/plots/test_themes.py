"""Themes of figures: light, dark and for print."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import to_hex, to_rgb

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.record import Record
from dalembert.view import plot
from dalembert.view.plots import themes
from dalembert.view.plots.figures import COLORS, INK
from tests.helpers.findings import raises


def run() -> Record:
    t = np.linspace(0.0, 1.0, 50)
    return Record(t, np.column_stack([np.sin(9 * t), np.cos(9 * t)]), ["a", "b"], ["m", "m"], name="swing")


def lightness(color: Any) -> float:
    """Relative luminance (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: Any, other: Any) -> float:
    low, high = sorted((lightness(one), lightness(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_line_colour_stands_out_from_dark_paper() -> None:
    dark = themes.theme("dark")
    assert all(contrast(dark.colors[color], themes.DARK_PAPER) > 6.0 for color in COLORS)
    assert contrast(dark.colors[INK], themes.DARK_PAPER) > 10.0


def test_every_line_colour_stands_out_from_printed_paper() -> None:
    printed = themes.theme("print")
    assert all(contrast(printed.colors[color], "white") > 3.0 for color in COLORS)


def test_a_dark_figure_has_dark_paper_and_light_words() -> None:
    figure = plot(run(), theme="dark")
    (ax,) = figure.axes
    assert to_hex(figure.get_facecolor()) == to_hex(ax.get_facecolor()) == themes.DARK_PAPER
    figure.canvas.draw()
    words = [ax.yaxis.label, ax.get_legend().get_texts()[0], *ax.get_xticklabels(), ax.title]
    assert all(contrast(word.get_color(), themes.DARK_PAPER) > 6.0 for word in words)
    assert [to_hex(line.get_color()) for line in ax.lines] == ["#4fb3f0", "#ff8a4c"]


def test_ticks_made_after_the_figure_was_drawn_keep_its_theme() -> None:
    figure = plot(run(), theme="dark")
    (ax,) = figure.axes
    ax.set_xlim(0.0, 40.0)
    figure.canvas.draw()
    assert all(to_hex(tick.get_color()) == "#b3b9c2" for tick in ax.get_xticklabels())


def test_lines_for_print_differ_by_dashes_in_the_axes_and_in_the_legend() -> None:
    (ax,) = plot(run(), theme="print").axes
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--"]
    assert [line.get_linestyle() for line in ax.get_legend().get_lines()] == ["-", "--"]
    assert plot(run(), "b", theme="print").axes[0].lines[0].get_linestyle() == "-"  # alone it needs none


def test_colour_maps_of_a_dark_figure_begin_dark() -> None:
    building = SecondOrder(np.eye(2), [[2.0, -1.0], [-1.0, 1.0]])
    figure = plot(building.modes(), view="mac", theme="dark")
    image = figure.axes[0].images[0]
    assert lightness(image.get_cmap()(0.0)[:3]) < 0.03
    figure.canvas.draw()


def test_a_style_holds_inside_its_block_only() -> None:
    with themes.figure_style("dark"):
        assert to_hex(plot(run()).get_facecolor()) == themes.DARK_PAPER
        assert to_hex(plot(run(), theme="light").get_facecolor()) == "#ffffff"
    assert to_hex(plot(run()).get_facecolor()) == "#ffffff"


def test_an_unknown_theme_is_reported_by_name() -> None:
    with raises(DataError, "unknown-name", "'drak'", "'dark'"):
        plot(run(), theme="drak")
    with raises(DataError, "unknown-name", "'night'"), themes.figure_style("night"):
        pass


def test_what_shows_through_stays_so() -> None:
    assert themes._to((1.0, 1.0, 1.0, 0.0), themes.theme("dark")) == "none"
    assert themes._to((1.0, 1.0, 1.0, 0.5), themes.theme("dark"))[3] == 0.5
    assert themes._to("#123456", themes.theme("dark")) == "#123456"
