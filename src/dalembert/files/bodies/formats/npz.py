"""The project's own format: a ZIP of NumPy arrays with all data, each number unchanged.

``about`` is a JSON text: format, version, name, reference, names of nodes and gauges, and the few numbers of the model
that the body was made of. The other arrays have the names of the fields of `FlexibleBodyData`, with a dot for those of
its parts: ``nodes.place`` (n, 3), ``nodes.translation`` (n, 3, m), ``picture.points``, ... `numpy.load` opens it too.
No pickle is read or written. Sizes are those that the directory of the ZIP declares; no more is unpacked.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Call
from dalembert.files.bodies.format import BODY_FORMATS, BodyFormat, BodyReading
from dalembert.files.bodies.matrix_files import read_array
from dalembert.model.flexible import (
    BodyPicture,
    FiniteElementValues,
    FlexibleBodyData,
    FlexibleNode,
    Stiffening,
    StrainGauge,
)

FORMAT, VERSION = "dalembert flexible body", 1
PLAIN = ("first_moment", "inertia", "translation", "rotation", "modal_mass", "moments", "products", "stiffness",
         "damping")  # fmt: skip
# Values of the model that are no arrays.
MODEL_WORDS = ("mass", "rigid_modes", "coordinates", "free", "source", "wave_speed")
PICTURE = ("points", "modes", "lines", "triangles")


# -- writing -----------------------------------------------------------------------------------------------------------
def write(data: FlexibleBodyData, path: Path) -> None:
    """All fields, in an order and with a date that do not change, so that equal data give equal files."""
    arrays = _arrays(data)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content.getvalue())


def _arrays(data: FlexibleBodyData) -> dict[str, Any]:
    m = data.modes
    about: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "name": data.name, "mass": data.mass, "reference": data.reference,
        "nodes": [node.name for node in data.nodes],
        "gauges": [{"name": gauge.name, "quantity": gauge.quantity} for gauge in data.gauges],
    }  # fmt: skip
    arrays: dict[str, Any] = {name: getattr(data, name) for name in PLAIN}
    arrays["nodes.place"] = _stack([node.place for node in data.nodes], (3,))
    arrays["nodes.translation"] = _stack([node.translation for node in data.nodes], (3, m))
    arrays["nodes.rotation"] = _stack([node.rotation for node in data.nodes], (3, m))
    arrays["gauges.row"] = _stack([gauge.row for gauge in data.gauges], (m,))
    if data.stiffening is not None:
        about["stiffening"] = {kind: list(getattr(data.stiffening, kind)) for kind in ("forces", "moments")}
        for name in ("centrifugal", "acceleration"):
            if getattr(data.stiffening, name) is not None:
                arrays[f"stiffening.{name}"] = getattr(data.stiffening, name)
        for kind in ("forces", "moments"):
            arrays[f"stiffening.{kind}"] = _stack(list(getattr(data.stiffening, kind).values()), (3, m, m))
    if data.picture is not None:
        arrays |= {f"picture.{name}": getattr(data.picture, name) for name in PICTURE}
    if data.finite_elements is not None:
        values = data.finite_elements
        about["finite_elements"] = {name: getattr(values, name) for name in MODEL_WORDS}
        arrays |= {f"finite_elements.{name}": getattr(values, name) for name in ("center", "inertia")}
        for name, array in (("frequencies", values.frequencies_hz), ("shapes", values.shapes)):
            if array is not None:
                arrays[f"finite_elements.{name}"] = array
    return {"about": np.array(json.dumps(about)), **{name: _plain(array) for name, array in arrays.items()}}


def _stack(arrays: list[Any], shape: tuple[int, ...]) -> FloatArray:
    return np.stack(arrays) if arrays else np.zeros((0, *shape))


def _plain(array: Any) -> Any:
    kind = np.dtype("<i8") if np.asarray(array).dtype.kind in "iu" else np.dtype("<f8")
    return np.ascontiguousarray(array, dtype=kind)


# -- reading -----------------------------------------------------------------------------------------------------------
def read(path: Path, how: BodyReading) -> FlexibleBodyData:
    """The data of a file of this version."""
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                arrays = _unpack(archive, how.max_bytes)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            # OSError: a place before the start of the file; RuntimeError: a password; NotImplementedError: a method of
            # packing that NumPy does not use
            raise FileFormatError("damaged", f"the file is cut short or damaged ({error}).") from None
    return _Reader(arrays).data()


def _unpack(archive: zipfile.ZipFile, max_bytes: int, most: int = 64) -> dict[str, Any]:
    """Arrays by name, ``most`` of them; a body has at most 27."""
    entries = archive.infolist()
    problem = f"the file has {len(entries)} arrays, more than {most}."
    FileFormatError.when(len(entries) > most, "too-large", problem, evidence={"arrays": len(entries)})
    size = sum(entry.file_size for entry in entries)
    problem = f"the file unpacks to {size} bytes, more than max_bytes = {max_bytes}."
    FileFormatError.when(size > max_bytes, "too-large", problem, evidence={"bytes": size, "allowed": max_bytes})
    arrays: dict[str, Any] = {}
    for entry in entries:
        name = entry.filename.removesuffix(".npy")
        FileFormatError.when(name in arrays, "duplicate", f"the array {name!r} is there twice.", where={"field": name})
        with archive.open(entry) as packed:
            arrays[name] = read_array(name, packed.read(entry.file_size))
    return arrays


class _Reader:
    """Arrays by name; each is read once, and further ones are refused."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays
        self.about = self._about()
        self.left = set(arrays) - {"about"}

    def _about(self, most: int = 1 << 24) -> dict[str, Any]:
        """The description; ``most`` characters are the names of 100 000 nodes."""
        description = self.arrays.get("about")
        advice = Advice("Write it with {}.", Call("da.write_flexible_body"))
        if description is None or description.dtype.kind != "U" or description.size != 1:
            problem = "this is not a file of a flexible body: it has no description."
            raise FileFormatError("unknown-format", problem, advice)
        text = str(description.reshape(()))
        _refuse(len(text) > most, "too-large", f"its description has {len(text)} characters.")
        try:
            about = json.loads(text)
        except (ValueError, RecursionError):
            raise FileFormatError("damaged", "its description is not JSON.", where={"field": "about"}) from None
        is_body = isinstance(about, dict) and about.get("format") == FORMAT
        _refuse(not is_body, "unknown-format", "this is not a file of a flexible body.")
        version = about.get("version")
        problem = f"the file has version {version!r}; version {VERSION} is read here."
        advice = Advice("Write it again with a release of the same version.")
        FileFormatError.when(version != VERSION, "bad-version", problem, advice, evidence={"version": version})
        return dict(about)

    def data(self) -> FlexibleBodyData:
        names, gauges = self.names("nodes"), self.tables("gauges")
        places, moved, turned = (self.rows(f"nodes.{key}", len(names)) for key in ("place", "translation", "rotation"))
        rows = self.rows("gauges.row", len(gauges))
        fields: dict[str, Any] = {name: self.array(name) for name in PLAIN}
        fields |= {"stiffening": self.stiffening(), "picture": self.picture(), "finite_elements": self.values()}
        for name in sorted(self.left):
            _refuse(True, "unknown-name", f"a flexible body has no array {name!r}.", name)
        return FlexibleBodyData(
            name=self.text(self.about, "name"), mass=self.number(self.about, "mass"),
            reference=self.text(self.about, "reference"),
            nodes=tuple(
                FlexibleNode(name=name, place=places[k], translation=moved[k], rotation=turned[k])
                for k, name in enumerate(names)
            ),
            gauges=tuple(
                StrainGauge(name=self.text(gauge, "name"), quantity=self.text(gauge, "quantity"), row=rows[k])
                for k, gauge in enumerate(gauges)
            ),
            **fields,
        )  # fmt: skip

    # -- arrays ------------------------------------------------------------------------------------------------------
    def array(self, name: str, kinds: str = "f") -> Any:
        _refuse(name not in self.arrays, "damaged", f"the array {name!r} is missing.", name)
        self.left.discard(name)
        values = self.arrays[name]
        _refuse(values.dtype.kind not in kinds, "wrong-type", f"the array {name!r} holds {values.dtype}.", name)
        return np.array(values, dtype=np.float64 if values.dtype.kind == "f" else np.intp)

    def optional(self, name: str) -> Any:
        return self.array(name) if name in self.arrays else None

    def rows(self, name: str, count: int) -> Any:
        array = self.array(name)
        problem = f"the array {name!r} has shape {array.shape} for {count} names."
        _refuse(array.shape[:1] != (count,), "wrong-shape", problem, name)
        return array

    def stiffening(self) -> Stiffening | None:
        if "stiffening" not in self.about:
            return None
        return Stiffening(
            centrifugal=self.optional("stiffening.centrifugal"), acceleration=self.optional("stiffening.acceleration"),
            forces=self.by_node("forces"), moments=self.by_node("moments"),
        )  # fmt: skip

    def by_node(self, kind: str) -> dict[str, Any]:
        """Matrices of the stiffening by the name of their node; older files have no moments."""
        names_by_kind = self.about["stiffening"]
        if kind == "moments" and isinstance(names_by_kind, dict) and kind not in names_by_kind:
            return {}
        names = self.texts(names_by_kind.get(kind) if isinstance(names_by_kind, dict) else None, "stiffening")
        return dict(zip(names, self.rows(f"stiffening.{kind}", len(names)), strict=True))

    def picture(self) -> BodyPicture | None:
        if not any(f"picture.{name}" in self.arrays for name in PICTURE):
            return None
        points, modes = self.array("picture.points"), self.array("picture.modes")
        lines, triangles = (self.array(f"picture.{name}", "iu") for name in ("lines", "triangles"))
        m = len(self.arrays["stiffness"]) if self.arrays["stiffness"].ndim else 0
        shapes = {"points": (points, (len(points) if points.ndim else 0, 3)),
                  "modes": (modes, (len(points) if points.ndim else 0, 3, m)),
                  "lines": (lines, (len(lines) if lines.ndim else 0, 2)),
                  "triangles": (triangles, (len(triangles) if triangles.ndim else 0, 3))}  # fmt: skip
        for name, (array, shape) in shapes.items():
            field = f"picture.{name}"
            _refuse(array.shape != shape, "wrong-shape", f"{field} has shape {array.shape}, expected {shape}.", field)
            bad = int((~np.isfinite(array)).sum())
            _refuse(bad, "not-finite", f"{bad} numbers of {field} are not finite.", field, numbers=bad)
            outside = array.dtype.kind != "f" and array.size and not 0 <= array.min() <= array.max() < len(points)
            problem = f"{field} names a point that is not there; it has {len(points)}."
            _refuse(outside, "out-of-range", problem, field)
        return BodyPicture(points=points, modes=modes, lines=lines, triangles=triangles)

    def values(self) -> FiniteElementValues | None:
        if "finite_elements" not in self.about:
            return None
        table = self.about["finite_elements"]
        _refuse(not isinstance(table, dict), "wrong-type", "finite_elements is not a table.")
        counts = {key: table.get(key) for key in ("rigid_modes", "coordinates")}
        for key, count in counts.items():
            _refuse(count is not None and type(count) is not int, "not-a-count", f"{key} is {count!r:.40}.")
        free = table.get("free")
        _refuse(not isinstance(free, bool), "wrong-type", f"free is {free!r:.40}, not true or false.")
        center, inertia = (self.array(f"finite_elements.{key}") for key in ("center", "inertia"))
        fits = center.shape == (3,) and inertia.shape == (3, 3)
        problem = f"finite_elements: center {center.shape}, inertia {inertia.shape}; expected (3,) and (3, 3)."
        _refuse(not fits, "wrong-shape", problem, "finite_elements")
        return FiniteElementValues(
            mass=self.number(table, "mass"), center=center, inertia=inertia, source=self.text(table, "source"),
            free=bool(free), rigid_modes=counts["rigid_modes"], coordinates=counts["coordinates"],
            frequencies_hz=self.optional("finite_elements.frequencies"), shapes=self.optional("finite_elements.shapes"),
            wave_speed=None if table.get("wave_speed") is None else self.number(table, "wave_speed"),
        )  # fmt: skip

    # -- description -------------------------------------------------------------------------------------------------
    def text(self, table: dict[str, Any], key: str) -> str:
        return self.texts([table.get(key)], key)[0]

    def number(self, table: dict[str, Any], key: str) -> float:
        value: Any = table.get(key)
        _refuse(type(value) not in (int, float), "not-a-number", f"{key} is {value!r:.40}.")
        return float(value)

    def names(self, key: str) -> list[str]:
        return self.texts(self.about.get(key), key)

    def texts(self, given: Any, what: str) -> list[str]:
        is_texts = isinstance(given, list) and all(isinstance(entry, str) for entry in given)
        _refuse(not is_texts, "wrong-type", f"{what}: expected a text or a list of them.")
        return list(given)

    def tables(self, key: str) -> list[dict[str, Any]]:
        entries: Any = self.about.get(key)
        is_tables = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
        _refuse(not is_tables, "wrong-type", f"{key} is not a list of tables.")
        return list(entries)


def _refuse(wrong: object, code: str, problem: str, field: str = "about", **evidence: Any) -> None:
    FileFormatError.when(wrong, code, problem, where={"field": field}, evidence=evidence)


BODY_FORMATS.register("npz", BodyFormat((".npz",), read, write))
