"""Reduction of finite-element structures: frames by their own names, a large solid within its memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.structures import assemble_structure, couple, craig_bampton, guyan, truncate_modal
from tests.helpers.findings import raises


def portal(*, half: str = "") -> da.structures.Frame:
    """A portal of two columns and a beam, or one half of it up to the point 'middle'."""
    frame = da.structures.Frame("portal", planar=True)
    section, steel = da.structures.Section.rectangle(0.02, 0.03), "steel"
    points = {"A": (0.0, 0.0), "B": (0.0, 1.0), "middle": (0.5, 1.0), "C": (1.0, 1.0), "D": (1.0, 0.0)}
    bars = {"left": ("A", "B"), "over": ("B", "middle"), "back": ("middle", "C"), "right": ("C", "D")}
    bars = {name: ends for name, ends in bars.items() if half in ("", {"left": "1", "over": "1"}.get(name, "2"))}
    used = {end for ends in bars.values() for end in ends}
    for name, place in points.items():
        if name in used:
            frame.add_point(name, place)
    for name, (start, end) in bars.items():
        frame.add_beam(name, start, end, section=section, material=steel, elements=4)
    for name in ("A", "D"):
        if name in used:
            frame.add_support(name, "fixed")
    return frame


def test_a_frame_is_reduced_to_its_corners_by_the_names_of_points():
    system = assemble_structure(portal()).system()
    reduced = craig_bampton(system, ["B", "C", "left[2].x"], 6)
    assert reduced.masters == ("B.x", "B.y", "B.rz", "C.x", "C.y", "C.rz", "left[2].x")
    report = reduced.fidelity(5)
    assert report.good(frequency_error=0.5, nco=0.999).all()
    assert report.good().sum() == 5


@pytest.mark.spec("003-C72")
def test_halves_of_a_frame_join_at_the_point_they_share():
    """All interior modes: the joined halves are the frame itself."""
    whole = assemble_structure(portal()).system().dense()
    halves = {name: assemble_structure(portal(half=name)).system() for name in "12"}
    joined = couple({name: craig_bampton(half, "middle", None) for name, half in halves.items()})
    assert joined.joined == ("middle.x", "middle.y", "middle.rz")
    exact = np.sqrt(np.linalg.eigvals(np.linalg.solve(whole.M, whole.K)).real)
    found = np.sqrt(np.linalg.eigvals(np.linalg.solve(joined.system.M, joined.system.K)).real)
    np.testing.assert_allclose(np.sort(found)[:10], np.sort(exact)[:10], rtol=1e-8)


def test_a_structure_instead_of_its_system_is_reported():
    for reduce in (lambda s: guyan(s, "B"), lambda s: truncate_modal(s, 3)):
        with raises(DataError, "wrong-type"):
            reduce(assemble_structure(portal()))


BOX = """
import resource, time
import numpy as np, scipy.sparse
from dalembert.linear import SecondOrder
from dalembert.structures import craig_bampton

nx, ny, nz, h, E, nu, rho = 25, 25, 24, 0.04, 70e9, 0.3, 2700.0
corner = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
lam, mu = E * nu / (1 + nu) / (1 - 2 * nu), E / 2 / (1 + nu)
D = np.diag([2 * mu] * 3 + [mu] * 3)
D[:3, :3] += lam
K, M = np.zeros((24, 24)), np.zeros((24, 24))
for g in corner / 3**0.5:
    f = 1 + corner * g
    N = f.prod(axis=1) / 8
    d = np.stack([corner[:, i] * np.delete(f, i, 1).prod(axis=1) / 8 for i in range(3)]) * 2 / h
    B = np.zeros((6, 24))
    for i in range(3):
        B[i, i::3] = d[i]
    for row, (i, j) in enumerate([(0, 1), (1, 2), (0, 2)], 3):
        B[row, i::3], B[row, j::3] = d[j], d[i]
    K += B.T @ D @ B * h**3 / 8
    M += rho * np.kron(np.outer(N, N), np.eye(3)) * h**3 / 8
index = np.arange((nx + 1) * (ny + 1) * (nz + 1)).reshape(nx + 1, ny + 1, nz + 1)
first = index[:-1, :-1, :-1].ravel()
points = np.stack([index[x:nx + x, y:ny + y, z:nz + z].ravel() for x in (0, 1) for y in (0, 1) for z in (0, 1)], 1)
at = (3 * points[:, :, None] + np.arange(3)).reshape(len(first), 24)
place = (np.repeat(at, 24, axis=1).ravel(), np.tile(at, (1, 24)).ravel())
K, M = (scipy.sparse.coo_array((np.tile(e.ravel(), len(first)), place)).tocsc() for e in (K, M))
names = [f"p{i}.{c}" for i in range(index.size) for c in "xyz"]
system = SecondOrder(M, K, coordinates=names)
interface = [f"p{i}" for i in np.random.default_rng(1).choice(index.size, 10, replace=False)]
start = time.perf_counter()
reduced = craig_bampton(system, interface, 20)
seconds = time.perf_counter() - start
rigid = np.r_[np.tile([1.0, 0, 0], 10), np.zeros(20)]
assert np.abs(reduced.expand(rigid).reshape(-1, 3) - [1, 0, 0]).max() < 1e-6
mass = rigid @ reduced.system.M @ rigid
assert abs(mass / (rho * nx * ny * nz * h**3) - 1) < 1e-9
print(system.nq, reduced.system.nq, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


@pytest.mark.slow
def test_craig_bampton_of_a_solid_with_50_000_coordinates_stays_below_4_gb():
    """25 x 25 x 24 linear hexahedra, free, 10 interface points (30 masters), 20 modes; a process of its own."""
    run = subprocess.run([sys.executable, "-c", BOX], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    full, small, seconds, gigabytes = map(float, run.stdout.split())
    assert (full, small) == (50_700, 50)
    print(f"{seconds:.1f} s, {gigabytes:.2f} GB in all")
    assert gigabytes < 4.0
