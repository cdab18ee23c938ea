"""HDF5 files: their own datasets, attributes that are texts, and numbers, within bounds.

A dataset of HDF5 may keep its numbers in any other file of the user's (external storage, virtual datasets, soft and
external links), may declare terabytes that are all a fill value, and its library unpacks a compressed chunk to any
size. Here only hard links are followed, and chunks are unpacked to the size they declare.
"""

from __future__ import annotations

import zlib
from math import prod
from typing import Any, BinaryIO

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.core.isolation import PIECE
from dalembert.files.tables import bounds
from dalembert.files.tables.bounds import check_text

MAGIC = b"\x89HDF\r\n\x1a\n"
_DEFLATE, _SHUFFLE, _CHECKSUM = 1, 2, 3  # filters of HDF5


def own_datasets(file: Any, *, groups: bool = False, depth: int = 0) -> dict[str, Any]:
    """Datasets of the root by name; links to other places are refused before they are opened.

    groups : those in groups too, as ``"group.name"``; MATLAB keeps cells in groups whose name begins with ``#``.
    """
    import h5py

    datasets: dict[str, Any] = {}
    for label in file:
        problem = f"{label!r} is a link to another place, which is not followed."
        FileFormatError.when(not isinstance(file.get(label, getlink=True), h5py.HardLink), "outside-reference", problem)
        if file.get(label, getclass=True) is h5py.Dataset:
            datasets[label] = file[label]
            if datasets[label].is_virtual or datasets[label].id.get_create_plist().get_external_count():
                raise FileFormatError(
                    "outside-reference", f"the numbers of {label!r} lie in another file, which is not read."
                )
        elif groups and depth < bounds.NESTING and not label.startswith("#"):
            below = own_datasets(file[label], groups=True, depth=depth + 1)
            datasets |= {f"{label}.{name}": dataset for name, dataset in below.items()}
    return {label: datasets[label] for label in datasets if datasets[label].shape is not None}


class Texts:
    """Attributes that are one text; anything else counts as absent. All texts together are bounded."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.size = max_bytes, 0

    def get(self, attributes: Any, key: str, default: str = "") -> str:
        import h5py

        if key not in attributes:
            return default
        place = attributes.get_id(key)
        kind = place.get_type()
        if kind.get_class() != h5py.h5t.STRING or place.shape is None or prod(place.shape) != 1:
            return default
        if not kind.is_variable_str():
            check_text(self.size + kind.get_size(), self.max_bytes)
        value = attributes[key]
        value = value.flat[0] if isinstance(value, np.ndarray) else value
        raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
        self.size += len(raw)
        check_text(self.size, self.max_bytes)
        return raw.decode("utf-8", "replace")


def read_dataset(dataset: Any, file: BinaryIO, target: Any, max_bytes: int) -> None:
    """The numbers of a dataset as float64, into a target of its shape."""
    label = dataset.name.strip("/")
    kind = np.dtype(dataset.dtype)
    problem = f"variable {label!r} does not hold numbers."
    FileFormatError.when(kind.kind not in "fiu" or kind.itemsize > 8, "not-a-number", problem)
    if dataset.chunks is None:
        some = max(1, PIECE // (8 * max(1, target[:1].size)))
        for start in range(0, len(target), some):
            target[start : start + some] = dataset[start : start + some]
        return
    shape = dataset.chunks
    size = prod(shape) * kind.itemsize
    problem = f"a chunk of {label!r} has {size} bytes, a sixteenth of max_bytes = {max_bytes} at most."
    FileFormatError.when(size > max_bytes // bounds.CHUNK_SHARE, "too-large", problem)
    plan = dataset.id.get_create_plist()
    filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
    if not set(filters) <= {_DEFLATE, _SHUFFLE, _CHECKSUM}:
        raise FileFormatError(
            "not-supported",
            f"variable {label!r} is packed by a filter other than deflate and shuffle.",
            Advice("Repack it by deflate, with the tool h5repack."),
        )
    target[:] = dataset.fillvalue

    def place(chunk: Any) -> None:
        starts = chunk.chunk_offset
        file.seek(chunk.byte_offset)
        content = file.read(min(chunk.size, size + size // 1000 + 64))  # deflate lengthens data that it cannot compress
        FileFormatError.when(len(content) != chunk.size, "damaged", f"a chunk of {label!r} is cut off.")
        used = [code for k, code in enumerate(filters) if not chunk.filter_mask >> k & 1]
        numbers = np.frombuffer(_unpack(content, used, size, kind.itemsize), dtype=kind)
        if len(numbers) != prod(shape) or any(start > n for start, n in zip(starts, target.shape, strict=True)):
            raise FileFormatError("damaged", f"a chunk of {label!r} does not have the size it declares.")
        there = tuple(slice(start, start + n) for start, n in zip(starts, shape, strict=True))
        wanted = target[there]
        wanted[...] = numbers.reshape(shape)[tuple(slice(0, n) for n in wanted.shape)]

    dataset.id.chunk_iter(place)


def _unpack(content: bytes, filters: list[int], size: int, width: int) -> Any:
    """A chunk with its filters undone, the last one first; no more than ``size`` bytes are made."""
    for code in reversed(filters):
        if code == _CHECKSUM:
            content = content[:-4]
        elif code == _DEFLATE:
            content = zlib.decompressobj().decompress(content, size + 4)  # a checksum may lie behind the numbers
        elif len(content) == size:
            content = np.frombuffer(content, dtype=np.uint8).reshape(width, -1).T.tobytes()
    return content if len(content) == size else b""
