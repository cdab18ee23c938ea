"""The lowest versions that pyproject.toml allows, as constraints for pip: `python -m tests.lowest > lowest.txt`.

What a user installs counts: dependencies and extras. pip chooses the tools of the extras `dev` and `bench`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
TOOLS = ("dev", "bench")


def lowest() -> list[str]:
    """One line `name==version` per lower bound."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for name in extras if name not in TOOLS for line in extras[name])]
    return [re.sub(r"\[.*?\]", "", line).replace(">=", "==").split(",")[0] for line in wanted]


if __name__ == "__main__":
    print("\n".join(lowest()))
