"""Modal data as JSON, as written by ``write_modes`` and by the commands ``identify`` and ``modes`` with ``--json``.

    {"coordinates": ["a1", "a2"], "modes": [{"frequency_hz": 2.0, "damping_ratio": 0.037, "shape": [1, 0.62]}]}

``identify`` calls the coordinates ``outputs``. Complex numbers are ``{"real": .., "imag": ..}``. A mode may have an
``eigenvalue`` [rad/s], ``modal_mass``, ``frequency_deviation_hz``, ``damping_deviation`` and ``class``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.files.modal.format import LARGEST, MODAL_FORMATS, ModalFormat
from dalembert.files.modal.geometry import Geometry
from dalembert.files.modal.modal_values import ModalValues, to_modes
from dalembert.linear.modes import Modes

KEYS = (
    "frequency_hz", "damping_ratio", "eigenvalue", "shape", "modal_mass", "frequency_deviation_hz",
    "damping_deviation", "class", "reasons", "number",
)  # fmt: skip


# Bytes of an object, a list, an item (a number and its places in lists and arrays) and a text.
OBJECT, LIST, ITEM, TEXT = 184, 64, 48, 64


def load_document(path: Path, max_bytes: int = LARGEST) -> Any:
    """The JSON of a file; errors name the line. Refused where its objects would take twice ``max_bytes``."""
    data = path.read_bytes()
    wide = 1 if data.isascii() else 2 if np.frombuffer(data, np.uint8).max() < 0xF0 else 4  # bytes of a character
    # "real" and "imag" are one text each, however often they occur
    texts = data.count(b'"') // 2 - data.count(b'"real"') - data.count(b'"imag"')
    counts = ((OBJECT, data.count(b"{")), (LIST, data.count(b"[")), (ITEM, data.count(b",")), (TEXT, texts))
    if (1 + wide) * len(data) + sum(size * count for size, count in counts) > 2 * max_bytes:
        problem = f"the values of this document take more than twice max_bytes = {max_bytes}."
        raise FileFormatError("too-large", problem, Advice("Raise {}, if it is sound.", Argument("max_bytes")))
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise FileFormatError("bad-syntax", f"this is not JSON ({error.msg}).", line=error.lineno) from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise FileFormatError("bad-syntax", f"this is not JSON that can be read ({error!s:.80}).") from None


def is_modal(document: Any) -> bool:
    """Whether a JSON document holds modes."""
    modes = document.get("modes") if isinstance(document, Mapping) else None
    if not isinstance(modes, list) or not modes:
        return False
    return (
        isinstance(modes[0], Mapping) and "shape" in modes[0] and bool({"frequency_hz", "eigenvalue"} & modes[0].keys())
    )


def read(path: Path, max_bytes: int) -> Modes:
    """Modes of a document."""
    document = load_document(path, max_bytes)
    problem = 'the document has no list "modes" of objects with "frequency_hz" and "shape".'
    FileFormatError.when(
        not is_modal(document), "not-modes", problem, Advice("Read a machine by {}.", Call("da.read_model"))
    )
    modes = document["modes"]
    names = document.get("coordinates", document.get("outputs"))
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        raise FileFormatError("missing-argument", 'the names of the coordinates are missing: a list "coordinates".')
    for k, mode in enumerate(modes):
        _check(mode, k, len(names))
    shapes = np.array([[_number(x, k, "shape") for x in mode["shape"]] for k, mode in enumerate(modes)]).T
    columns = {key: [_optional(mode, key, k) for k, mode in enumerate(modes)] for key in (*KEYS[:2], *KEYS[4:7])}
    frequency, damping, mass, sd_f, sd_z = (_row(columns[key]) for key in (*KEYS[:2], *KEYS[4:7]))
    eigenvalues = None
    if all("eigenvalue" in mode for mode in modes):
        eigenvalues = np.array([_number(mode["eigenvalue"], k, "eigenvalue") for k, mode in enumerate(modes)], complex)
        FileFormatError.when(not np.isfinite(eigenvalues).all(), "not-finite", "an eigenvalue is not finite.")
        frequency = np.abs(eigenvalues) / (2.0 * np.pi)
    FileFormatError.when(frequency is None, "missing-argument", 'a mode has no "frequency_hz".')
    classes = [mode.get("class") for mode in modes]
    about = {"classes": [str(name) for name in classes]} if all(classes) else {}
    values = ModalValues(
        frequency, shapes, names, None if eigenvalues is not None else damping, mass, sd_f, sd_z, eigenvalues,
        provenance=about,
    )  # fmt: skip
    return to_modes(values)


def _check(mode: Any, k: int, count: int) -> None:
    where = {"mode": k + 1}
    FileFormatError.when(not isinstance(mode, Mapping), "wrong-type", f"mode {k + 1} is not an object.", where=where)
    for key in mode:
        require_name(
            "key", str(key), KEYS, f"mode {k + 1}", error=FileFormatError, code="unknown-argument", where=where
        )
    shape = mode.get("shape")
    if not isinstance(shape, list) or len(shape) != count:
        length = len(shape) if isinstance(shape, list) else "no"
        problem = f"the shape of mode {k + 1} has {length} numbers for {count} coordinates."
        raise FileFormatError("wrong-shape", problem, where=where)


def _number(value: Any, k: int, key: str) -> float | complex:
    if isinstance(value, Mapping) and value.keys() == {"real", "imag"}:
        return complex(_real(value["real"], k, key), _real(value["imag"], k, key))
    return _real(value, k, key)


def _real(value: Any, k: int, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FileFormatError("not-a-number", f"{value!r:.40} in {key!r} of mode {k + 1} is not a number.",
                              where={"mode": k + 1})  # fmt: skip
    try:
        return float(value)
    except OverflowError:
        raise FileFormatError("not-finite", f"{key!r} of mode {k + 1} is too large.", where={"mode": k + 1}) from None


def _optional(mode: Mapping[str, Any], key: str, k: int) -> float:
    value = mode.get(key)
    return float("nan") if value is None else _real(value, k, key)


def _row(values: list[float]) -> Any:
    """A column, None where no mode has a number."""
    row = np.array(values)
    return None if np.isnan(row).all() else row


def write(modes: Modes, path: Path, geometry: Geometry | None) -> None:
    """A document with names and, per mode, its numbers; they read back the same."""
    columns = {
        "frequency_hz": modes.frequencies_hz, "damping_ratio": modes.damping_ratios, "eigenvalue": modes.eigenvalues,
        "shape": modes.shapes.T, "modal_mass": modes.modal_masses if modes.has_masses else None,
        "frequency_deviation_hz": modes.frequency_deviations_hz, "damping_deviation": modes.damping_deviations,
    }  # fmt: skip
    rows = [{key: _plain(of[k]) for key, of in columns.items() if of is not None} for k in range(len(modes))]
    text = json.dumps({"coordinates": modes.coordinates, "modes": rows}, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def _plain(value: Any) -> Any:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, list):
        return [_plain(entry) for entry in plain]
    return {"real": plain.real, "imag": plain.imag} if isinstance(plain, complex) else plain


MODAL_FORMATS.register("json", ModalFormat((".json",), read, write))
