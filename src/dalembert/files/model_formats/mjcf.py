"""MJCF, the models of MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.files.models.format import MODEL_FORMATS, ModelFormat, ReadingOption

if TYPE_CHECKING:
    from dalembert.model import Mechanism


def read(path: Path, shown: str, **options: Any) -> Mechanism:
    from dalembert.files.robots.mjcf.reading import read_mjcf

    return read_mjcf(path, **options)


def accepts(path: Path) -> bool:
    from dalembert.files.robots.xml_tree import root_tag

    return root_tag(path) == "mujoco"


OPTIONS = (
    ReadingOption("folders", "folders", "folders of included files and meshes"),
    ReadingOption("pictures", "flag", "show geoms"),
    ReadingOption("repair", "flag", "replace an inertia that no body can have by the nearest one"),
)
MODEL_FORMATS.register("MJCF", ModelFormat((".xml", ".mjcf"), read, OPTIONS, accepts))
