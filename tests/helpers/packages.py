"""Packages of guests: a module and an entry point, as pip installs them."""

from __future__ import annotations

from pathlib import Path


def install(folder: Path, module: str, source: str, group: str) -> None:
    """A package with one module, which is an entry point of the group."""
    (folder / f"{module}.py").write_text(source)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\nguest = {module}\n")
