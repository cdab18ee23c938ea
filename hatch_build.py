"""Build hook: the page of animations goes into the wheel (see src/dalembert/view/page_build.py)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        file = Path(self.root, "src", "dalembert", "view", "page_build.py")
        spec = importlib.util.spec_from_file_location("page_build", file)
        assert spec is not None
        assert spec.loader is not None
        page = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(page)
        build_data["artifacts"].append("/src/dalembert/view/page.html")
        if page.is_current():
            return
        try:
            page.build()
        except page.PageError as error:
            if version != "editable":
                raise
            # the first animation tries again, and says what is missing
            self.app.display_warning(str(error))
