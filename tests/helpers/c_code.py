"""Exported C: the compiler, and a build that warns of nothing."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest

CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-fno-common", "-ffp-contract=off")


needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler (cc, gcc or clang) on this machine")


def built(export: Any) -> tuple[int, str, set[str]]:
    """Exit code and output of the test program, and the symbols the step needs from elsewhere."""
    assert CC is not None
    name, folder = export.name, export.folder
    objects = []
    for source in (f"{name}.c", f"{name}_kernel.c"):
        target = folder / source.replace(".c", ".o")
        subprocess.run([CC, *FLAGS, "-c", source, "-o", target.name], cwd=folder, check=True)
        objects.append(target.name)
    subprocess.run([CC, *FLAGS, f"{name}_test.c", *objects, "-o", "check", "-lm"], cwd=folder, check=True)
    outcome = subprocess.run(["./check"], cwd=folder, capture_output=True, text=True, check=False)
    needed: set[str] = set()
    nm = shutil.which("nm")
    if nm is not None:
        text = subprocess.run([nm, "-u", *objects], cwd=folder, capture_output=True, text=True, check=True).stdout
        needed = {line.split()[-1].lstrip("_") for line in text.splitlines() if " U " in f" {line} "}
    return outcome.returncode, outcome.stdout, needed


def sound(export: Any) -> None:
    code, text, needed = built(export)
    assert code == 0, text
    assert not needed & {"malloc", "calloc", "realloc", "free", "printf", "abort", "exit"}
    assert needed <= {f"{export.name}_kernel", "sin", "cos", "tan", "sqrt", "exp", "log", "fmin", "fmax", "floor",
                      "pow", "sqrtf", "sincos", "memcpy", "memset", "fabs", "tanh"}  # fmt: skip
