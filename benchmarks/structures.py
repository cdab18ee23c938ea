"""Groups ``frame`` and ``solid``: modes of a large frame beside SciPy; Craig-Bampton of a large solid, its memory."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np

from benchmarks.harness import Answer, Emit, Row, ask, cpu_time

MODES = 20
BAYS, STOREYS, ELEMENTS = (9, 10), 20, 4  # joints along x and y, storeys, elements per beam: 101 160 coordinates
CELLS = 25  # hexahedra along each edge of the cube: 50 700 coordinates with one face held
INTERFACE_POINTS = 10
SLOW = 600.0
"""Elapsed time given to SciPy's call with its own settings [s]: its default order of elimination suits no frame."""
MEMORY_GOAL = 4096.0


def frame_rows() -> list[Row]:
    """Ours: from the description to the modes. Peers: SciPy's eigensolver alone, on our matrices."""
    mine = figure(ask("benchmarks.structures", "our_frame", {}))
    peers = {
        "eigsh": figure(ask("benchmarks.structures", "eigsh", {}, limit=SLOW)),
        "eigsh, tuned": figure(ask("benchmarks.structures", "eigsh", {"tuned": True})),
        "scikit-fem + eigsh, tuned": figure(ask("benchmarks.structures", "scikit_fem", {})),
    }
    frequencies = [f["hertz"] for f in (mine, *peers.values()) if "hertz" in f]
    spread = max((abs(a / b - 1.0) for other in frequencies[1:] for a, b in zip(frequencies[0], other)), default=0.0)
    extra = {"details": {"ours": mine, **peers}, "note": f"frequencies agree to {spread:.1e}; " + mine.get("split", "")}
    cpu = {name: peer.get("cpu") for name, peer in peers.items()}
    return [Row(f"frame/{mine.get('size', 0)}/{MODES} modes", "s", mine.get("cpu"), cpu, goal=1.5, extra=extra)]


def solid_rows() -> list[Row]:
    """Craig-Bampton of a cube of linear hexahedra; the limit is the memory of the whole process."""
    mine = figure(ask("benchmarks.structures", "our_solid", {}, limit=SLOW))
    note = f"{mine.get('megabytes', float('nan')):.0f} MB in all (goal {MEMORY_GOAL:.0f}); " + mine.get("split", "")
    extra = {"details": {"ours": mine}, "note": note}
    return [Row(f"solid/{mine.get('size', 0)}/Craig-Bampton", "s", mine.get("cpu"), {}, extra=extra)]


def figure(answer: Answer) -> dict[str, Any]:
    """What a process gave, with its status."""
    lines = [line for line in answer.lines if "cpu" in line]
    if lines:
        return lines[-1] | {"status": "ok", "reason": ""}
    return {"status": "failed" if answer.status == "ok" else answer.status, "reason": answer.reason}


# --- the frame -------------------------------------------------------------------------------------------------------


def building() -> Any:
    """A building of concrete columns and beams, every storey alike, clamped at its feet."""
    import dalembert as da

    frame = da.structures.Frame("building")
    x, y, z = np.meshgrid(
        6.0 * np.arange(BAYS[0]), 5.0 * np.arange(BAYS[1]), 3.5 * np.arange(STOREYS + 1), indexing="ij"
    )
    names = np.array([f"p{i}" for i in range(x.size)]).reshape(x.shape)
    frame.add_points(names.ravel().tolist(), np.stack([x, y, z], axis=-1).reshape(-1, 3))
    column, beam = da.structures.Section.rectangle(0.4, 0.4), da.structures.Section.rectangle(0.5, 0.3)
    for label, first, second, section in (
        ("column", names[:, :, :-1], names[:, :, 1:], column),
        ("along", names[:-1, :, 1:], names[1:, :, 1:], beam),
        ("across", names[:, :-1, 1:], names[:, 1:, 1:], beam),
    ):
        frame.add_beams(
            label, first.ravel().tolist(), second.ravel().tolist(), section=section, material="concrete",
            elements=ELEMENTS,
        )  # fmt: skip
    frame.add_support(names[:, :, 0].ravel().tolist(), "fixed")
    return frame


def our_frame(task: dict[str, Any], emit: Emit) -> None:
    """Description, assembly and modes; all three counted."""
    import dalembert as da

    def run() -> Any:
        describing, frame = cpu_time(building)
        assembling, system = cpu_time(lambda: da.structures.assemble_structure(frame).system())
        solving, modes = cpu_time(lambda: system.modes(MODES))
        return describing, assembling, solving, modes

    run()  # what is imported on first use is not counted
    cpu, (describing, assembling, solving, modes) = min((cpu_time(run) for _ in range(3)), key=lambda pair: pair[0])
    split = f"described in {describing:.2f} s, assembled in {assembling:.2f} s, modes in {solving:.2f} s"
    emit({"cpu": cpu, "hertz": modes.frequencies_hz.tolist(), "size": len(modes.coordinates), "split": split})


def matrices() -> Any:
    import scipy.sparse as sp

    import dalembert as da

    system = da.structures.assemble_structure(building()).system()
    return sp.csc_matrix(system.K), sp.csc_matrix(system.M)


def eigsh(task: dict[str, Any], emit: Emit) -> None:
    """The eigensolver call alone, with its own settings or with the elimination order a connoisseur would choose."""
    K, M = matrices()
    cpu, values = cpu_time(lambda: _solve(K, M, tuned=task.get("tuned", False)))
    if task.get("tuned"):
        cpu = min(cpu, *(cpu_time(lambda: _solve(K, M, tuned=True))[0] for _ in range(2)))
    emit({"cpu": cpu, "hertz": (np.sqrt(np.sort(values)) / (2.0 * np.pi)).tolist()})


def _solve(K: Any, M: Any, *, tuned: bool) -> Any:
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    if not tuned:
        return eigsh(K, MODES, M, sigma=0.0)[0]
    factor = splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return eigsh(K, MODES, M, sigma=0.0, OPinv=LinearOperator(K.shape, factor.solve))[0]


def scikit_fem(task: dict[str, Any], emit: Emit) -> None:
    """scikit-fem has no frame element: it scatters element blocks cut from our matrices, then SciPy solves."""
    import scipy.sparse as sp
    from skfem.assembly.form.coo_data import COOData

    blocks = [(m.tocoo(), m.shape) for m in matrices()]

    def run() -> Any:
        assembled = [COOData(np.stack([m.row, m.col]), m.data, shape, ()).tocsr() for m, shape in blocks]
        return _solve(*(sp.csc_matrix(m) for m in assembled), tuned=True)

    cpu, values = min((cpu_time(run) for _ in range(3)), key=lambda pair: pair[0])
    emit({"cpu": cpu, "hertz": (np.sqrt(np.sort(values)) / (2.0 * np.pi)).tolist()})


# --- the solid -------------------------------------------------------------------------------------------------------


def our_solid(task: dict[str, Any], emit: Emit) -> None:
    """Mesh, assembly, reduction; memory as the system counted it for the whole process."""
    import dalembert as da

    begin, marks = time.process_time(), {}
    mesh = da.structures.box_mesh((1.0, 1.0, 1.0), (CELLS, CELLS, CELLS), kind="hex8")
    solid = da.structures.Solid("cube", mesh, "steel")
    solid.add_support("x=0")
    structure = da.structures.assemble_structure(solid)
    system = structure.system()
    marks["assembled"] = time.process_time() - begin
    far = np.flatnonzero(structure.positions[:, 0] > 1.0 - 1e-9)
    chosen = far[np.linspace(0, len(far) - 1, INTERFACE_POINTS).astype(int)]
    masters = [structure.points[i] for i in chosen]
    begin = time.process_time()
    reduced = da.structures.craig_bampton(system, masters, modes=MODES)
    marks["reduced"] = time.process_time() - begin
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    split = ", ".join(f"{what} in {seconds:.1f} s" for what, seconds in marks.items())
    emit(
        {
            "cpu": sum(marks.values()),
            "size": system.nq,
            "kept": reduced.system.nq,
            "megabytes": megabytes,
            "split": split,
        }
    )
