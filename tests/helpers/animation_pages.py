"""The data that a page of an animation carries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.helpers.payload import unpack


def page_data(path: Path) -> Any:
    text = path.read_text("utf-8")
    found = re.search(r'<script type="text/plain" id="data" data-packing="(\w+)">(.*?)</script>', text, re.S)
    assert found
    return unpack(*found.groups())
