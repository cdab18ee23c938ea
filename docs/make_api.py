"""Write docs/api.md: every public name with its signature and first sentence, from the code itself.

Run: python docs/make_api.py
"""

from __future__ import annotations

import importlib
import inspect
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import dalembert as da

PAGE = Path(__file__).with_name("api.md")
ROOMS = (
    "linear", "structures", "identify", "estimate", "control", "symbolic", "symbolic.modular", "tree", "sweeps",
    "errors", "math",
)  # fmt: skip
# imported by name: from dalembert.solve import ...
BEYOND = ("kinds", "model", "equations", "solve", "loop", "files", "view")
HEAD = """# Reference of names

Made by `python docs/make_api.py` from the code. `help(da.simulate)` shows the whole text of a name.
"""


def summary(thing: Any) -> str:
    """First sentence of a docstring, on one line."""
    first = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|")


def signature(thing: Any) -> str:
    """Arguments without annotations, whose types stand in the code."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<[^<>]*>", "...", text)


def members(kind: type) -> list[str]:
    """Public methods and properties that a class defines itself."""
    return sorted(
        name
        for name, value in vars(kind).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, property | classmethod))
    )


def entry(prefix: str, name: str, thing: Any) -> str:
    shown = f"`{prefix}{name}`"
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return f"- {shown}: {summary(thing)}"
    if callable(thing):
        shown = f"`{prefix}{name}{signature(thing)}`"
    also = ", ".join(f"`.{each}`" for each in members(thing)) if isinstance(thing, type) else ""
    text = summary(thing) if callable(thing) or inspect.ismodule(thing) else repr(thing)
    return f"- {shown}: {text}" + (f" Has {also}." if also else "")


def classes() -> dict[str, str]:
    """name -> module of every class of the package; a class name has one meaning."""
    folder = Path(da.__file__).parent
    found = {}
    for file in sorted(folder.rglob("*.py")):
        module = ".".join(["dalembert", *file.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
        found |= dict.fromkeys(re.findall(r"^class ([A-Z]\w*)", file.read_text("utf-8"), re.M), module)
    return found


def returned(thing: Any) -> set[str]:
    """Names in the annotation of the result of a function, or of the public methods and properties of a class."""
    functions = [thing]
    if isinstance(thing, type):
        public = [value for name, value in vars(thing).items() if not name.startswith("_")]
        functions = [value.fget if isinstance(value, property) else value for value in public]
    texts = [str(getattr(each, "__annotations__", {}).get("return", "")) for each in functions]
    return {word for text in texts for word in re.findall(r"\w+", text)}


def results(listed: dict[str, Any]) -> list[str]:
    """Classes that public functions, methods and properties return and that stand nowhere else on the page."""
    homes, seen = classes(), dict(listed)
    left = list(listed.values())
    found = {}
    while left:
        for name in sorted(returned(left.pop()) & homes.keys() - seen.keys()):
            seen[name] = getattr(importlib.import_module(homes[name]), name)
            found[name] = entry(f"{homes[name]}.", name, seen[name])
            left.append(seen[name])
    return [found[name] for name in sorted(found, key=str.lower)]


def page() -> str:
    """The whole page as text."""
    listed: dict[str, Any] = {name: getattr(da, name) for name in da.__all__}
    parts = [HEAD, "## `da`\n"]
    for name in sorted(set(da.__all__) - {"__version__", *ROOMS}, key=str.lower):
        parts.append(entry("da.", name, getattr(da, name)))
    for room in ROOMS:
        module = attrgetter(room)(da)
        parts.append(f"\n## `da.{room}`\n\n{summary(module)}\n")
        listed |= {name: getattr(module, name) for name in module.__all__}
        parts += [entry(f"da.{room}.", name, getattr(module, name)) for name in sorted(module.__all__, key=str.lower)]
    parts.append("\n## Imported by name\n\nResults and details: `from dalembert.solve import rank_report`.\n")
    for room in BEYOND:
        module = importlib.import_module(f"dalembert.{room}")
        names = [name for name in getattr(module, "__all__", ()) if name not in da.__all__]
        listed |= {name: getattr(module, name) for name in names}
        parts += [entry(f"dalembert.{room}.", name, getattr(module, name)) for name in sorted(names, key=str.lower)]
    parts.append("\n## Results\n\nMade by the functions above; nobody needs to import them.\n")
    return "\n".join([*parts, *results(listed)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
