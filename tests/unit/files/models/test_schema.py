"""The shipped JSON Schema by an independent validator: it takes what the loader takes, and names what it refuses."""

from __future__ import annotations

import json
import tomllib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import TypeAdapter, ValidationError

from dalembert.app.commands.new import STARTER
from dalembert.files.models import library_path, list_models, model_schema, read_model
from dalembert.files.models.schema.values import Text, quantities
from dalembert.files.models.text.toml_text import toml_text
from dalembert.files.models.writing import model_document
from tests.helpers.model_documents import GOOD
from tests.helpers.written_machines import LAWS, planar_machine, spatial_machine

SCHEMA = model_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PARTS = sorted((library_path("pendulum").parent / "parts").glob("*.toml"))


def complaints(document: Any) -> list[str]:
    return [f"{list(error.absolute_path)}: {error.message[:200]}" for error in VALIDATOR.iter_errors(document)]


def test_the_schema_is_a_sound_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


TABLES = [file for file in map(library_path, list_models()) if file.suffix == ".toml"]


@pytest.mark.parametrize("file", [*TABLES, *PARTS], ids=lambda file: file.stem)
def test_every_library_file_keeps_to_the_schema(file: Path) -> None:
    assert complaints(tomllib.loads(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n == "stewart" else ()) for n in list_models()]
)
def test_every_library_model_written_again_keeps_to_the_schema(name: str) -> None:
    assert complaints(tomllib.loads(toml_text(model_document(read_model(name))))) == []


@pytest.mark.parametrize("make", [planar_machine, spatial_machine])
def test_everything_that_can_be_written_keeps_to_the_schema(make: Any) -> None:
    assert complaints(json.loads(json.dumps(model_document(make())))) == []


@pytest.mark.parametrize(
    "text", [STARTER.format(name="arm", file="arm.toml"), LAWS, GOOD], ids=["starter", "laws", "arm"]
)
def test_files_by_hand_keep_to_the_schema(text: str) -> None:
    assert complaints(tomllib.loads(text)) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[body.x]\nmass = 1", []),
        ("[bodies.b]\nmas = 1", ["bodies", "b"]),
        ("[bodies]\nrod = 3", ["bodies", "rod"]),
        ("planar = 'yes'", ["planar"]),
        ("gravity = [0, 0, 0, 1]", ["gravity"]),
        ("[joints.A]\ntype = 'revolut'\na = 'ground'\nb = 'b'", ["joints", "A"]),
        ("[joints.A]\ntype = 'revolute'\na = 'ground'", ["joints", "A"]),
        ("[forces.f]\ntype = 'spring'\nstifness = 1", ["forces", "f"]),
        ("[sensors.s]\ntype = 'angle'", ["sensors", "s"]),
        ("[simulate]\nmethod = { type = 'Euler' }", ["simulate", "method"]),
        ("[start]\nplace = 1", ["start"]),
        ("[include.a]\nground = 'b'", ["include", "a"]),
        ("[bodies.b]\nmass = true", ["bodies", "b", "mass"]),
        ("[bodies.b]\nmass = ''", ["bodies", "b", "mass"]),
        ("[bodies.b]\ninertia = { rood = 1 }", ["bodies", "b", "inertia"]),
    ],
)
def test_what_is_wrong_in_form_is_found_by_the_schema_at_its_place(text: str, place: list[str]) -> None:
    places = [list(error.absolute_path)[: len(place)] for error in VALIDATOR.iter_errors(tomllib.loads(text))]
    assert place in places, places


def test_every_table_and_key_of_the_schema_says_what_it_means() -> None:
    tables = {"Model": SCHEMA, **SCHEMA["$defs"]}
    silent = [name for name, table in tables.items() if not table.get("description")]
    silent += [
        f"{name}.{key}"
        for name, table in tables.items()
        for key, given in table["properties"].items()
        if key != "type" and not given.get("description")
    ]
    assert silent == []


def test_the_reference_of_model_files_is_the_one_of_the_code() -> None:
    from dalembert.files.models.schema.make_reference import reference_text

    page = Path(__file__).parents[4] / "docs" / "model-files-reference.md"
    stale = f"stale: run python -m dalembert.files.models.schema.make_reference docs/{page.name}"
    assert page.read_text(encoding="utf-8") == reference_text(), stale


# ---- edges of thresholds


@pytest.mark.parametrize(("count", "refused"), [(1000, False), (1001, True)])
def test_a_list_has_a_thousand_numbers_at_most(count: int, refused: bool) -> None:
    with pytest.raises(ValidationError) if refused else nullcontext():
        TypeAdapter(quantities("length")).validate_python([0.0] * count)


@pytest.mark.parametrize(("count", "refused"), [(1000, False), (1001, True)])
def test_a_name_has_a_thousand_characters_at_most(count: int, refused: bool) -> None:
    with pytest.raises(ValidationError) if refused else nullcontext():
        TypeAdapter(Text).validate_python("a" * count)
