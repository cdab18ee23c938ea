"""Random mechanisms to a file and back: the same equations, to rounding."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.files.models import parse_model
from dalembert.files.models.text.toml_text import json_text, toml_text
from dalembert.files.models.writing import model_document
from tests.helpers.same_equations import ROUNDING, difference

numbers = st.floats(-2, 2).map(lambda x: round(x, 6)) | st.floats(-2, 2)
positive = st.floats(0.05, 3)
names = st.text(
    st.characters(whitelist_categories=("L", "N"), whitelist_characters=" ._-()'\"\\,"), min_size=1, max_size=8
)


@st.composite
def mechanisms(draw: st.DrawFn) -> da.Mechanism:
    """A tree of bodies in the plane or in space, with rods, springs, forces and sensors, partly symbolic."""
    planar = draw(st.booleans())
    size = 2 if planar else 3
    m = da.Mechanism(draw(names.filter(str.strip)), planar=planar, gravity=tuple(draw(numbers) for _ in range(size)))
    parameters = [m.parameter(f"p{k}", draw(positive)) for k in range(draw(st.integers(0, 2)))]
    taken = {"ground", *m.parameters}

    def name(kind: str) -> str:
        text = draw(names).strip() or kind
        while text in taken or f"{text}.x" in taken:
            text += "x"
        taken.update((text, *(f"{text}.{c}" for c in ("x", "y", "z", "angle", "rate", "displacement", "speed"))))
        return text

    def value(numeric: Any) -> Any:
        x = draw(numeric)
        if not parameters or draw(st.booleans()):
            return x
        p = draw(st.sampled_from(parameters))
        return draw(
            st.sampled_from([p, x * p, p + abs(x), p**2, da.math.sqrt(p) * 2, da.math.maximum(p, abs(x)), abs(p) / 3])
        )

    def point(body: Any) -> Any:
        return body.at(*(value(numbers) for _ in range(size)))

    bodies: list[Any] = [m.ground]
    for _ in range(draw(st.integers(1, 3))):
        shapes = [da.rod(value(positive)), da.box(value(positive), 0.2, 0.1), da.cylinder(value(positive), 0.3), 0.7]
        shapes += [da.sphere(0.3, hollow=True), da.composite((da.rod(1.0), value(positive), (0.1, 0.2)))]
        shape = draw(st.sampled_from(shapes))
        mass = None if type(shape).__name__ == "Composite" else value(positive)
        place = tuple(draw(numbers) for _ in range(size)) if draw(st.booleans()) else None
        options: dict[str, Any] = {"mass": mass, "inertia": shape, "position": place}
        if not planar and draw(st.booleans()):
            options["rotation"] = (draw(positive), draw(numbers), draw(numbers), draw(numbers))
        if planar:
            options["angle"] = draw(numbers)
        bodies.append(m.add_body(name("body"), **options))
        before = draw(st.sampled_from(bodies[:-1]))
        axis = None if planar else (draw(positive), draw(numbers), draw(numbers))
        kind = draw(st.sampled_from(["revolute", "prismatic", "spherical" if not planar else "revolute"]))
        if kind == "revolute":
            m.add_revolute(name("joint"), point(before), point(bodies[-1]), axis=axis)
        elif kind == "prismatic":
            m.add_prismatic(name("joint"), point(before), point(bodies[-1]), axis=(0.6, 0.8) if planar else axis)
        else:
            m.add_spherical(name("joint"), point(before), point(bodies[-1]))
    body = draw(st.sampled_from(bodies[1:]))
    if draw(st.booleans()):
        m.add_massless_rod(name("rod"), point(m.ground), point(body), length=value(positive))
    if draw(st.booleans()):
        m.add_spring(
            name("spring"), point(m.ground), point(body), stiffness=value(positive), free_length=value(positive)
        )
    if draw(st.booleans()):
        m.add_contact(name("contact"), point(m.ground), point(body), stiffness=value(positive), friction=0.2)
    if draw(st.booleans()):
        m.add_force(name("force"), point(body), tuple(value(numbers) for _ in range(size)), axes="body")
    if draw(st.booleans()):
        m.add_sensor(name("sensor"), da.accelerometer(point(body)))
    return m


@given(mechanisms())
@settings(max_examples=8 * int(os.environ.get("DALEMBERT_FUZZ", "1")))
def test_random_mechanisms_go_to_a_file_and_back(m: da.Mechanism) -> None:
    document = model_document(m)
    eqs = da.equations(m)
    for copy in (parse_model(toml_text(document)), parse_model(json_text(document), is_json=True)):
        assert model_document(copy) == document
        assert copy.name == m.name
    assert difference(eqs, da.equations(copy), samples=1) < ROUNDING
