"""What a process of the benchmarks finds on its path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any


def compilers(task: dict[str, Any], emit: Callable[[dict[str, Any]], None]) -> None:
    emit({"found": [name for name in ("cc", "gcc", "clang", "tcc") if shutil.which(name)], "CC": os.environ["CC"]})
