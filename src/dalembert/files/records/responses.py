"""Frequency responses in universal files."""

from __future__ import annotations

import os

from dalembert.core.arguments import take_path
from dalembert.core.atomic_files import replace_file, require_file
from dalembert.core.errors import FileFormatError
from dalembert.files.records.format import Reading
from dalembert.files.records.formats.uff import read_frf, write_frf
from dalembert.linear.responses.frequency_response import FrequencyResponse


def read_frequency_response(path: str | os.PathLike[str], *, max_bytes: int = Reading.max_bytes) -> FrequencyResponse:
    """Read the frequency responses of a universal file (data set 58), in SI.

    Inputs and outputs have the names of their degrees of freedom: ``12+X``.
    """
    file = take_path("path", path)
    require_file(file, max_bytes, argument="max_bytes")
    with FileFormatError.of_file(path):
        return read_frf(file, max_bytes)


def write_frequency_response(response: FrequencyResponse, path: str | os.PathLike[str]) -> None:
    """Write frequency responses as a universal file, whole or not at all; numbers keep 13 digits."""
    with replace_file(take_path("path", path)) as temporary:
        write_frf(response, temporary)
