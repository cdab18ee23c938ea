"""Geometry of a beam at its limits."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import ModelError
from dalembert.structures import Frame, Section
from tests.helpers.findings import raises

PIPE = {"section": Section.tube(0.1, 0.08), "material": "steel"}


def short_beam(length: float) -> Frame:
    """A frame of size 1 with a beam of this length."""
    f = Frame("short", planar=True)
    f.add_points(["A", "B", "C"], [[0, 0], [length, 0], [1, 0]])
    f.add_beams("b", ["A", "B"], ["B", "C"], **PIPE)
    return f


def test_a_beam_has_no_length_up_to_its_limit():
    assert short_beam(2e-12).problems() == []
    with raises(ModelError, "zero-length", "'b1'"):
        short_beam(5e-13).validate()


def leaning(angle: float) -> Frame:
    """A beam along x whose height direction leaves it by this angle."""
    f = Frame("leaning")
    f.add_points(["A", "B"], [[0, 0, 0], [1, 0, 0]])
    f.add_beam("b", "A", "B", up=(np.cos(angle), np.sin(angle), 0.0), **PIPE)
    return f


def test_a_height_direction_is_along_the_beam_up_to_its_limit():
    assert leaning(2e-6).problems() == []
    with raises(ModelError, "parallel", "'b'"):
        leaning(5e-7).validate()
