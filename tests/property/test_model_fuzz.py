"""The loader under fire: whatever stands in a file, it gives a machine or one of this package's errors, and soon."""

from __future__ import annotations

import json
import os
import time
import tomllib

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.files.models import library_path, list_models, model_schema, parse_model
from dalembert.files.models.text import arithmetic as ar
from dalembert.files.models.text.positions import find_lines
from dalembert.files.models.text.toml_text import toml_text
from dalembert.files.models.writing import model_document

WIDER = int(os.environ.get("DALEMBERT_FUZZ", "1"))  # times as many examples
WHOLE = {file.stem: file.read_bytes() for file in map(library_path, list_models()) if file.suffix == ".toml"}
SCHEMA = jsonschema.Draft202012Validator(model_schema())
ALONE = [text for text in WHOLE.values() if b"[include" not in text]


def survives(content: bytes, *, is_json: bool = False) -> da.Mechanism | None:
    begin = time.process_time()
    try:
        return parse_model(content, is_json=is_json)
    except da.errors.DalembertError as error:
        assert str(error)
        return None
    finally:
        assert time.process_time() - begin < 2


@given(st.binary(max_size=400), st.booleans())
@settings(max_examples=40 * WIDER)
def test_random_bytes_are_refused_or_read(content: bytes, is_json: bool) -> None:
    survives(content, is_json=is_json)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A sound file with pieces cut out, doubled, exchanged or overwritten."""
    text = draw(st.sampled_from(ALONE))
    for _ in range(draw(st.integers(1, 4))):
        a, b = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        b = min(b, a + 60)
        kind = draw(st.sampled_from(["cut", "double", "write", "copy"]))
        if kind == "cut":
            text = text[:a] + text[b:]
        elif kind == "double":
            text = text[:b] + text[a:]
        elif kind == "write":
            text = text[:a] + draw(st.binary(max_size=12)) + text[b:]
        else:
            c = draw(st.integers(0, len(text)))
            text = text[:a] + text[c : c + 40] + text[b:]
    return text


@given(mutated())
@settings(max_examples=60 * WIDER)
def test_mutated_files_are_refused_or_read(content: bytes) -> None:
    survives(content)


TOKENS = [
    '"0"', '"1 m"', '"-1 kg"', '"nan"', '"inf"', '"1e308*10"', '"1e400"', '"length"', '"t"', '"A.angle"', '"ground"',
    '"rod"', '"1/0"', '"(-1)**0.5"', "0", "-1", "1e308", "-1e308", "1e-320", "true", "nan", "-inf", "[]", "{}",
    "[1, 2]", "[[]]", '""', '"revolute"', '"sphere"', '"where(1 < 2, 3, 4)"', '"`x`"', '"ground(0, 0)"',
    '"rod(1e308, 1e308)"', '{ rod = 1e200 }', '{ box = [1e200, 1e200] }', '[1e308, 1e308, 1e308]',
    '"10 deg"', "1979-05-27", '"\\u0000"', "0x" + "f" * 4000, "9" * 350, '"10**10**10"', '"\\u001b[31m"', '"1\\u00a0m"',
]  # fmt: skip


@st.composite
def revalued(draw: st.DrawFn) -> bytes:
    """A sound file with some of its values replaced by others."""
    lines = draw(st.sampled_from(ALONE)).decode().splitlines()
    places = [k for k, line in enumerate(lines) if " = " in line]
    for _ in range(draw(st.integers(1, 3))):
        k = draw(st.sampled_from(places))
        key = lines[k].partition(" = ")[0]
        lines[k] = f"{key} = {draw(st.sampled_from(TOKENS))}"
    return "\n".join(lines).encode()


@given(revalued())
@settings(max_examples=80 * WIDER)
def test_files_with_other_values_are_refused_or_read(content: bytes) -> None:
    """What is read is sound: it has equations, or says why not; and no editor with the schema complains of it."""
    m = survives(content)
    if m is not None:
        assert [error.message for error in SCHEMA.iter_errors(tomllib.loads(content.decode()))] == []
    if m is not None and len(m.bodies) < 4:
        try:
            da.equations(m)
            again = parse_model(toml_text(model_document(m)))
            assert toml_text(model_document(again)) == toml_text(model_document(m))
        except da.errors.DalembertError as error:
            assert str(error)


SECTIONS = ["bodies", "joints", "forces", "sensors", "drivers", "parameters", "constants", "start", "simulate",
            "ground", "couplers", "constraints", "variables", "include", "gravity", "planar", "name", "x"]  # fmt: skip
KEYS = [
    "type",
    "a",
    "b",
    "mass",
    "inertia",
    "position",
    "at",
    "axis",
    "rod",
    "body",
    "joint",
    "points",
    "motion",
    "table",
]
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8), st.sampled_from(KEYS),
    st.sampled_from(["revolute", "spring", "angle", "ground", "2*t", "1 mm", "sin(t)"]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(SECTIONS), st.dictionaries(st.text(max_size=4), values, max_size=3) | values))
@settings(max_examples=20 * WIDER)
def test_random_documents_are_refused_or_read(document: dict[str, object]) -> None:
    survives(json.dumps(document).encode(), is_json=True)


@given(st.text(alphabet="0123456789.+-*/^()<>=, eEtabsincopqrmk_`\"'°²µ\n", max_size=60))
@settings(max_examples=120 * WIDER)
@example("((((((((((")
@example("1e" + "9" * 300)
@example("m" * 10000)
def test_random_expressions_are_refused_or_read(text: str) -> None:
    begin = time.process_time()
    try:
        tree = ar.parse(text)
        assert ar.parse(ar.render(tree)) == _without_units(tree)
        ar.value(tree, lambda name: 1.5)
    except da.errors.DataError as error:
        assert str(error)
    assert time.process_time() - begin < 1


def _without_units(tree: ar.Tree) -> ar.Tree:
    if tree.operation == "number":
        return ar.number(tree.arguments[0])
    if tree.operation == "name":
        return tree
    return ar.node(tree.operation, *(_without_units(a) for a in tree.arguments))


@given(mutated())
@settings(max_examples=24 * WIDER)
def test_every_value_of_a_sound_text_has_a_line(content: bytes) -> None:
    try:
        text = content.decode()
        document = tomllib.loads(text)
    except ValueError:
        return
    lines = find_lines(text)
    last = text.count("\n") + 1

    def look(path: tuple[str | int, ...], value: object) -> None:
        assert 1 <= lines[path] <= last
        for key, inner in (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        ):
            look((*path, key), inner)

    look((), document)


@pytest.mark.parametrize("name", list(WHOLE))
def test_every_value_of_the_library_has_a_line(name: str) -> None:
    text = WHOLE[name].decode()
    lines = find_lines(text)
    for section, parts in tomllib.loads(text).items():
        if isinstance(parts, dict):
            for part in parts:
                line = text.splitlines()[lines[(section, part)] - 1]
                assert part in line
