"""A solid part from its mesh to a moving machine, in the lines that a user writes."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("skfem")

from benchmarks import solid_link


def check_run(run: object, page: Path) -> None:
    """A slider-crank of 50 mm has a stroke of 100 mm; the rod bends by less than a tenth of a millimetre."""
    assert np.ptp(run["slider.x"]) == pytest.approx(0.1, abs=1e-5)  # type: ignore[index]
    bending = np.abs(run["bending.y"]).max()  # type: ignore[index]
    assert 1e-6 < bending < 1e-4
    assert "<html" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_solid_link_goes_from_mesh_to_moving_machine_in_fifteen_lines(tmp_path: Path) -> None:
    lines = inspect.getsource(solid_link.move).split('"""')[2].strip().splitlines()
    written = [
        line for line in lines if line.strip() and "import" not in line and not line.strip().startswith("return")
    ]
    assert len(written) <= 15
    check_run(solid_link.move(solid_link.bent_link((48, 8, 2)), tmp_path / "link.html"), tmp_path / "link.html")


@pytest.mark.slow
def test_a_solid_link_of_20_000_nodes_moves(tmp_path: Path) -> None:
    mesh = solid_link.bent_link(solid_link.DIVISIONS)
    assert len(mesh.points) > 20_000
    check_run(solid_link.move(mesh, tmp_path / "link.html"), tmp_path / "link.html")
