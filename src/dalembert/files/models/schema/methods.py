"""Methods of integration in a model file: their keys are the options of the registered methods."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

from pydantic import ConfigDict, Field, create_model

from dalembert.files.models.schema.kinds import Number, Time
from dalembert.files.models.schema.values import FileTable, Text


class MethodTable(FileTable):
    """A method of integration."""

    model_config = ConfigDict(extra="allow")

    type: Text = Field(description="DormandPrince by default; Rosenbrock for stiff machines")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        """The keys of all registered methods."""
        from dalembert.solve.integrate.method import INTEGRATORS, options_of

        schema: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        kind = schema["properties"]["type"]
        schema["properties"] = {
            "type": {key: kind[key] for key in ("description", "title")}
            | {"enum": sorted(INTEGRATORS), "type": "string"}
        }
        meanings: dict[str, dict[str, list[str]]] = {}
        for name, method in INTEGRATORS.items():
            for key, entry in keys_table(method).model_json_schema()["properties"].items():
                meanings.setdefault(key, {}).setdefault(entry["description"], []).append(name)
                schema["properties"].setdefault(key, entry)
        for key, users in meanings.items():
            shown = (f"{meaning} ({', '.join(sorted(names))})" for meaning, names in users.items())
            unit = next(options_of(INTEGRATORS[names[0]])[key].unit for names in users.values())
            schema["properties"][key]["description"] = "; ".join(shown) + (f" [{unit}]" if unit else "")
        schema["additionalProperties"] = False
        return schema


@lru_cache(maxsize=64)
def keys_table(method: type[Any]) -> type[FileTable]:
    """The table of one method's keys."""
    from dalembert.solve.integrate.method import options_of

    def kind(wanted: Any, unit: str) -> Any:
        plain = next((hint for hint in get_args(wanted) if hint is not type(None)), wanted)
        if get_origin(wanted) is Literal:
            return wanted
        return Time if unit == "s" else Number if plain is float else plain

    keys: dict[str, Any] = {
        name: (kind(option.type, option.unit) | None, Field(None, description=option.meaning))
        for name, option in options_of(method).items()
    }
    return create_model(f"{method.__name__}Keys", __base__=FileTable, **keys)
