"""Running commands in tests: in this process, or through the installed entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from dalembert.cli import app

COMMANDS = (
    "demo", "study", "simulate", "animate", "view", "equilibrium", "modes", "linearize", "equations", "sweep",
    "look", "identify", "estimate", "export", "new", "library", "schema", "body", "doctor", "version",
)  # fmt: skip


def run(*arguments: Any) -> Any:
    """A command in this process: exit_code, stdout, stderr, output (both)."""
    return CliRunner().invoke(app, [str(one) for one in arguments])


def document(*arguments: Any) -> dict[str, Any]:
    """What a command prints with --json: one document and nothing else on standard output."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def error_text(result: Any) -> str:
    """Text of a command on standard error, without the frame and the line breaks around it."""
    return " ".join(result.stderr.replace("│", " ").split())


def installed(*arguments: Any, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command through the entry point that `pip install` made."""
    return subprocess.run(
        [*entry(), *(str(one) for one in arguments)], capture_output=True, text=True, check=False, cwd=folder,
        timeout=120, env={**os.environ, **environment},
    )  # fmt: skip


def entry() -> list[str]:
    script = Path(sys.executable).parent / "dalembert"
    return [str(script)] if script.exists() else [sys.executable, "-m", "dalembert"]
