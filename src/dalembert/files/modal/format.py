"""Formats of files with modal data, and the registry of them.

    MODAL_FORMATS.register("table", ModalFormat((".csv",), read, write))

A reader gets the path and the largest size, which `read_modes` has checked; its errors need no path. A writer gets the
modes, the path to write to and the geometry of the sensors, None for none. An installed package adds its own format
through an entry point of the group ``dalembert.modal_formats`` that names the module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.registry import Registry
from dalembert.files.modal.geometry import Geometry
from dalembert.linear.modes import Modes

# Bytes of a file: 100 modes at 10 000 coordinates take 13 MB as text. JSON takes up to 40 times its length as objects.
LARGEST = 16 * 1024**2


@dataclass(frozen=True)
class ModalFormat:
    """One format: suffixes with their dot, in lower case; reader and writer; whether it keeps a geometry."""

    suffixes: tuple[str, ...]
    read: Callable[[Path, int], Modes]
    write: Callable[[Modes, Path, Geometry | None], None]
    keeps_geometry: bool = False


MODAL_FORMATS: Registry[ModalFormat] = Registry(
    "modal format", package="dalembert.files.modal.formats", group="dalembert.modal_formats", error=FileFormatError
)


def modal_suffixes() -> tuple[str, ...]:
    """Suffixes of all formats."""
    return tuple(suffix for kind in MODAL_FORMATS.values() for suffix in kind.suffixes)


def find_modal_format(path: Path) -> ModalFormat:
    """The format of a file, by its suffix."""
    suffix = path.suffix.lower()
    kind = next((kind for kind in MODAL_FORMATS.values() if suffix in kind.suffixes), None)
    if kind is None:
        suffixes = ", ".join(modal_suffixes())
        problem = f"the suffix {path.suffix!r} is not that of a file with modal data. Known: {suffixes}."
        raise FileFormatError("unknown-suffix", problem, path=str(path))
    return kind
