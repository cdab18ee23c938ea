"""Experimental modal data as files, by suffix: every registered format is read and written here."""

from __future__ import annotations

import os

from dalembert.core.arguments import take_path
from dalembert.core.atomic_files import replace_file, require_file
from dalembert.core.errors import DataError, FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.modal.format import LARGEST, MODAL_FORMATS, find_modal_format
from dalembert.files.modal.geometry import Geometry, read_geometry
from dalembert.identify.model.identified import HoldsIdentified, Identified, take_identified
from dalembert.linear.modes import Modes


def read_modes(path: str | os.PathLike[str], *, max_bytes: int = LARGEST) -> Modes:
    """Read modes from a file: frequencies, damping ratios, shapes at named coordinates, modal masses, deviations.

    A table (``.csv``, ``.tsv``, ``.txt``) has a row or a column per mode, with headings such as ``frequency_hz`` or
    ``Frequency [Hz]``, ``damping_ratio`` or ``Damping (%)``, ``modal_mass``, ``frequency_deviation_hz``,
    ``damping_deviation``; every other column is a coordinate, real or complex. JSON has the form that ``dalembert
    identify`` and ``dalembert modes`` write. Universal files hold sets 55, with coordinates ``12+X``.

    Parameters
    ----------
    path : file; its suffix decides the format
    max_bytes : larger files are refused

    Returns
    -------
    Modes
        In the order of the file; its deviations are used by :func:`dalembert.identify.update`. Omissions are listed in
        ``provenance["notes"]``.
    """
    file = take_path("path", path)
    kind = find_modal_format(file)
    require_file(file, max_bytes, argument="max_bytes")
    with FileFormatError.of_file(path):
        modes = kind.read(file, max_bytes)
    return modes.replace(provenance={**modes.provenance, "file": file.name})


def write_modes(
    modes: Modes | Identified | HoldsIdentified,
    path: str | os.PathLike[str],
    *,
    geometry: Geometry | str | os.PathLike[str] | None = None,
) -> None:
    """Write modes as a table, JSON or universal file, whole or not at all.

    Parameters
    ----------
    modes : Modes, or an identified model, whose modes that oscillate are written with their deviations
    path : file ending in ``.csv``, ``.tsv``, ``.json``, ``.uff`` or ``.unv``. Numbers of tables and JSON read back the
        same; those of universal files have six digits, and no deviations.
    geometry : places and directions of the coordinates, or their file: nodes and trace lines of a universal file
    """
    model = take_identified(modes)
    if isinstance(model, Identified):
        model = model.underdamped_modes().replace(
            frequency_deviations_hz=model.frequency_deviations_hz, damping_deviations=model.damping_deviations
        )
    problem = f"write_modes takes Modes or an identified model, and a path, not a {type(modes).__name__}."
    DataError.when(not isinstance(model, Modes), "wrong-type", problem, where={"argument": "modes"})
    DataError.when(not len(model), "empty", "there are no modes to write.")
    file = take_path("path", path)
    kind = find_modal_format(file)
    if geometry is not None and not kind.keeps_geometry:
        keep = [suffix for kind in MODAL_FORMATS.values() if kind.keeps_geometry for suffix in kind.suffixes]
        raise FileFormatError(
            "ineffective-argument", f"files {file.suffix} hold no geometry.",
            Advice(f"Write one of {', '.join(keep)}."), path=str(path),
        )  # fmt: skip
    places = geometry if geometry is None or isinstance(geometry, Geometry) else read_geometry(geometry)
    with FileFormatError.of_file(file), replace_file(file) as temporary:
        kind.write(model, temporary, places)
