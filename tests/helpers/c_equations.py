"""Exported equations in C: compiled and compared with Python."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest

CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-ffp-contract=off")


needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler (cc, gcc or clang) on this machine")


def check(export: Any) -> str:
    """Output of the test program, which agrees."""
    assert CC is not None
    name = export.name
    command = [CC, *FLAGS, f"{name}.c", f"{name}_test.c", "-o", "check", "-lm"]
    subprocess.run(command, cwd=export.folder, check=True)
    outcome = subprocess.run(["./check"], cwd=export.folder, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout
    return outcome.stdout
