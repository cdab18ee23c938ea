"""URDF, the robot description of ROS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.files.models.format import MODEL_FORMATS, ModelFormat, ReadingOption

if TYPE_CHECKING:
    from dalembert.model import Mechanism


def read(path: Path, shown: str, **options: Any) -> Mechanism:
    from dalembert.files.robots.urdf import read_urdf

    return read_urdf(path, **options)


def accepts(path: Path) -> bool:
    from dalembert.files.robots.xml_tree import root_tag

    return root_tag(path) == "robot"


OPTIONS = (
    ReadingOption("base", "choice", "whether the root link is the ground or floats", ("fixed", "free")),
    ReadingOption("folders", "folders", "folders of meshes"),
    ReadingOption("actuated", "flag", "give every joint an input"),
    ReadingOption("pictures", "flag", "show shapes and meshes"),
    ReadingOption("repair", "flag", "replace an inertia that no body can have by the nearest one"),
)
MODEL_FORMATS.register("URDF", ModelFormat((".urdf", ".xml"), read, OPTIONS, accepts))
