"""Data of flexible bodies as files, by suffix: every registered format is read and written here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dalembert.core.arguments import take_names, take_path
from dalembert.core.atomic_files import replace_file, require_file
from dalembert.core.errors import DataError, FileFormatError, unknown_name
from dalembert.core.findings import Advice
from dalembert.files.bodies.format import BodyReading, find_format, suffixes
from dalembert.model.flexible import FlexibleBodyData


def read_flexible_body(
    path: str | os.PathLike[str], *, max_bytes: int = BodyReading.max_bytes, without: str | Sequence[str] = ()
) -> FlexibleBodyData:
    """Read the data of a flexible body, for `Mechanism.add_flexible_body`.

    Parameters
    ----------
    path : file; its suffix decides the format. ``.npz`` holds everything. ``.SID_FEM`` is the standard input data of
        Wallrapp (1994); what it does not hold is named in ``finite_elements.source``. A ``.toml`` or ``.json`` file
        names files of mass and stiffness matrices (text, MatrixMarket, NumPy, or those of Nastran, Abaqus and Ansys)
        and how modes are made of them. ``.pch`` is a superelement of Nastran. Nothing in a file is executed.
    max_bytes : larger files, and files that would unpack to more, are refused.
    without : blocks of standard input data to leave out where they contradict the others: some of "Ct", "Cr", "Gr",
        "Ge" and "Oe". What they describe counts as zero; a warning and ``finite_elements.source`` name them.

    Raises
    ------
    FileFormatError : a file that is damaged, too large or of another version, or whose numbers no body has.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dalembert as da
    >>> file = Path(tempfile.mkdtemp(), "rod.npz")
    >>> beam = da.structures.Beam(length=1.0, EI=80.0, rhoA=2.0, left="clamped", right="free")
    >>> da.write_flexible_body(da.structures.flexible_body(beam, name="rod", modes=2), file)
    >>> da.read_flexible_body(file).frequencies_hz.round(2).tolist()
    [3.54, 22.18]
    """
    file = take_path("path", path)
    names = take_names("part", without)
    blocks = find_format(file).optional if names else ()
    for name in names:
        if name not in blocks:
            problem = f"without: {unknown_name('optional part', name, blocks, f'files {file.suffix}')}"
            raise DataError("unknown-name", problem, where={"argument": "without"})
    return read_body(file, BodyReading(max_bytes, names))


def read_body(file: Path, how: BodyReading, shown: str | None = None) -> FlexibleBodyData:
    """Read a file; ``shown`` is its name in messages."""
    name = str(file) if shown is None else shown
    kind = find_format(file)
    if kind.read is None:
        raise FileFormatError("not-supported", f"files {kind.suffixes[0]} are written, not read.", path=name)
    require_file(file, how.max_bytes, name, argument="max_bytes")
    try:
        with FileFormatError.of_file(name):
            return kind.read(file, how)
    except OSError as error:
        raise FileFormatError("not-readable", f"cannot be read ({error}).", path=name) from None


def write_flexible_body(body: FlexibleBodyData, path: str | os.PathLike[str]) -> None:
    """Write the data of a flexible body, whole or not at all.

    ``.npz`` keeps everything, every number unchanged. ``.SID_FEM`` keeps the contents of standard input data: not
    the gauges and the picture.
    """
    problem = f"write_flexible_body takes the data of a flexible body and a path, not a {type(body).__name__}."
    DataError.when(not isinstance(body, FlexibleBodyData), "wrong-type", problem, where={"argument": "body"})
    file = take_path("path", path)
    kind = find_format(file)
    if kind.write is None:
        advice = Advice(f"Use one of {', '.join(suffixes(written=True))}.")
        problem = f"files {kind.suffixes[0]} are read, not written."
        raise FileFormatError("not-supported", problem, advice, path=str(file))
    with FileFormatError.of_file(file), replace_file(file) as temporary:
        kind.write(body, temporary)
