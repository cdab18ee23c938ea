"""The reference of names is that of the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_of_names_is_up_to_date() -> None:
    """In a process of its own, where no test has registered a kind."""
    code = "import sys, make_api; sys.stdout.buffer.write(make_api.page().encode())"
    made = subprocess.run([sys.executable, "-c", code], cwd=DOCS, capture_output=True, check=True)
    assert made.stdout.decode() == (DOCS / "api.md").read_text("utf-8"), "run: python docs/make_api.py"
