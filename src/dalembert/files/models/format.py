"""Formats of files that describe a machine, and the registry of them.

A format is declared in a file of its own: its suffixes, its reader, the options of the reader. `read_model`, the
commands and the completion of the shell read the registry.

    MODEL_FORMATS.register("sdf", ModelFormat((".sdf",), read, (ReadingOption("folders", "folders", "of meshes"),)))

Built-in formats are the files of `dalembert.files.model_formats`. An installed package adds its own through an entry
point of the group ``dalembert.model_formats`` that names the module. The modules import their readers where they read:
the shell waits for the suffixes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.core.errors import FileFormatError, require_name, unknown_name
from dalembert.core.registry import Registry

if TYPE_CHECKING:
    from dalembert.model import Mechanism

FLAGS = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True)
class ReadingOption:
    """An option of a reader; form "choice" (one of `choices`), "flag" or "folders"."""

    name: str
    form: str
    doc: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelFormat:
    """One format: suffixes with their dot, in lower case; a reader; the options that its reader takes.

    read : called with the path, the text by which messages name it, and the given options.
    accepts : whether a file is of this format, where several have its suffix; None: every file is.
    """

    suffixes: tuple[str, ...]
    read: Callable[..., Mechanism]
    options: tuple[ReadingOption, ...] = ()
    accepts: Callable[[Path], bool] | None = None


MODEL_FORMATS: Registry[ModelFormat] = Registry(
    "model format", package="dalembert.files.model_formats", group="dalembert.model_formats", error=FileFormatError
)


def model_suffixes() -> tuple[str, ...]:
    """Suffixes of all formats, each once."""
    return tuple(dict.fromkeys(suffix for kind in MODEL_FORMATS.values() for suffix in kind.suffixes))


def find_format(file: Path, shown: str) -> ModelFormat:
    """The format of a file, by its suffix and, where several have it, by its content."""
    fitting = [kind for kind in MODEL_FORMATS.values() if file.suffix.lower() in kind.suffixes]
    if not fitting:
        suffixes = " or ".join(filter(None, (", ".join(model_suffixes()[:-1]), model_suffixes()[-1])))
        raise FileFormatError("unknown-suffix", f"a model file ends in {suffixes}.", path=shown)
    return next((kind for kind in fitting if kind.accepts is None or kind.accepts(file)), fitting[0])


def check_options(format: ModelFormat, given: Mapping[str, Any], shown: str) -> dict[str, Any]:
    """Options of the reader, also as texts of a command line; an unknown one is named with those of the format."""
    options = {option.name: option for option in format.options}
    values: dict[str, Any] = {}
    for name, value in given.items():
        require_name("option of the reader", name, options, error=FileFormatError, code="unknown-argument", path=shown)
        option = options[name]
        if option.form == "flag" and isinstance(value, str):
            problem = f"{name} must be yes or no, got {value!r}."
            FileFormatError.when(value.lower() not in FLAGS, "unknown-choice", problem, path=shown)
            value = FLAGS[value.lower()]
        if option.form == "choice" and value not in option.choices:
            raise FileFormatError("unknown-choice", unknown_name(name, str(value), option.choices), path=shown)
        if option.form == "folders" and isinstance(value, str | Path):
            value = (value,)
        values[name] = value
    return values
