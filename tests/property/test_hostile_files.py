"""Files made to take memory or time without end are refused, in 200 MB and at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.hostile_files import CASES


@pytest.mark.skipif(sys.platform != "linux", reason="the bound on the memory of the process is Linux's")
def test_files_without_end_are_refused_in_little_memory() -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.hostile_files"], cwd=root, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=300, check=False,  # a pipe that is opened never answers
    )  # fmt: skip
    ends = {name: ended for name, ended, _ in map(json.loads, done.stdout.splitlines())}
    assert ends == {name: ended for name, (_, _, ended) in CASES.items()}, done.stderr
