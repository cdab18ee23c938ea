"""Flexible bodies for tests of files, and their comparison field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from dalembert.model.flexible import FlexibleBodyData
from dalembert.structures import BeamGauge, Frame, Section, flexible_body

_GAUGES = {
    "foot": BeamGauge(0.05, y=0.002, beam="lower"),
    "arm": BeamGauge(0.1, beam="upper", quantity="curvature"),
}


def bent_link(**given: Any) -> FlexibleBodyData:
    """A link of two beams at an angle, out of any plane, with four modes."""
    f = Frame("link")
    f.add_points(["root", "bend", "tip"], [[0, 0, 0], [0.3, 0.1, 0.0], [0.5, 0.2, 0.3]])
    section = Section.rectangle(0.004, 0.03)
    f.add_beam("lower", "root", "bend", section=section, material="steel", elements=4)
    f.add_beam("upper", "bend", "tip", section=section, material="steel", elements=4)
    how: dict[str, Any] = {"basis": "clamped", "fixed": "root", "modes": 4, "damping": 0.01, "stiffening": False}
    return flexible_body(f, **{**how, **given})


def full_link() -> FlexibleBodyData:
    """The link with everything that data can hold: gauges, stiffening, a picture, values of its model."""
    link = bent_link(stiffening=True, gauges=_GAUGES)
    assert link.finite_elements is not None
    values = replace(
        link.finite_elements, free=True, frequencies_hz=np.array([1.0, 2.0]), shapes=np.arange(8.0).reshape(2, 4)
    )
    return replace(link, finite_elements=values)


def assert_same(a: Any, b: Any, path: str = "data") -> None:
    """Every field equal: types, shapes, and every number to the last bit (NaN where the other has NaN)."""
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape, path
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), path
    elif is_dataclass(a):
        assert type(a) is type(b), path
        for one in fields(a):
            assert_same(getattr(a, one.name), getattr(b, one.name), f"{path}.{one.name}")
    elif isinstance(a, Mapping):
        assert list(a) == list(b), path
        for key in a:
            assert_same(a[key], b[key], f"{path}[{key!r}]")
    elif isinstance(a, tuple):
        assert len(a) == len(b), path
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{path}[{k}]")
    else:
        assert a == b and type(a) is type(b), path
