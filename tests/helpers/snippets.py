"""Python in pages of documentation."""

from __future__ import annotations

import re


def snippets(text: str) -> list[tuple[int, str]]:
    """The python blocks with the line each begins at."""
    found = re.finditer(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)), match.group(1)) for match in found]
