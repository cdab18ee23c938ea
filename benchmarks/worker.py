"""The process behind one figure: ``python -m benchmarks.worker MODULE FUNCTION OUT BYTES``, the task on stdin."""

from __future__ import annotations

import importlib
import json
import resource
import sys
from typing import Any


def main() -> None:
    module, function, out, limit = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
    task = json.load(sys.stdin)
    with open(out, "w", encoding="utf-8") as stream:

        def emit(line: dict[str, Any]) -> None:
            # One line at once on disk: a process that meets its limit keeps what it measured before.
            stream.write(json.dumps(line) + "\n")
            stream.flush()

        getattr(importlib.import_module(module), function)(task, emit)


if __name__ == "__main__":
    main()
