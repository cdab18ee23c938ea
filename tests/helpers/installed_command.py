"""The installed command, as a shell calls it."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import CompletedProcess

from tests.helpers.commands import installed


def dalembert(folder: Path, *arguments: str) -> CompletedProcess[str]:
    places = [str(folder), os.environ.get("PYTHONPATH", "")]
    return installed(*arguments, PYTHONPATH=os.pathsep.join(filter(None, places)))
