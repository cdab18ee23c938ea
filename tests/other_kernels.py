"""Run the tests that touch linear algebra under other kernels of OpenBLAS: ``python -m tests.other_kernels``.

OpenBLAS chooses its kernels by the processor, and each rounds in its own way: no order of names, no choice and no
decision of this package may depend on it. ``OPENBLAS_CORETYPE`` asks for the kernels of another processor. Kernels
without fused multiplication and addition differ most from those of any processor of today: they are run alone, unless
``--all`` is given, with half of the examples of a property and without tests that write files. A folder is here for
what it does, decide on computed numbers, and no file of it is left out. Numbers that are compared with a tolerance can
turn over as well where the tolerance is too narrow: their folders are run with ``--all``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
# Decisions on computed numbers: ranks, orders, pairs, signs, choices.
DECISIONS = (
    "unit/linear/*.py", "unit/linear/eigen/*.py", "unit/linear/families/*.py", "unit/linear/transforms/*.py",
    "unit/numerics/*.py", "unit/control/**/*.py", "unit/structures/*.py", "unit/structures/analysis/*.py",
    "unit/structures/assembly/*.py", "unit/structures/flexible_body/*.py", "unit/structures/ranking/*.py",
    "unit/structures/reduction/**/*.py", "unit/identify/*/*.py", "unit/identify/test_model.py",
    "unit/identify/test_spectral.py",
    "unit/solve/constrained/test_methods.py", "unit/solve/position/test_mobility.py", "unit/solve/test_motion.py",
    "unit/solve/rest/test_linearize.py", "unit/estimate/filters/test_kalman.py",
    "unit/estimate/filters/test_sigma_points.py",
    "property/test_linear_properties.py", "property/test_control_properties.py",
    "property/test_state_space_properties.py", "property/test_reduction_properties.py",
    "property/test_estimate_linear.py", "property/test_identify_*.py",
)  # fmt: skip
# Values within tolerances.
VALUES = (
    "unit/linear/responses/*.py", "unit/structures/beams/*.py", "unit/structures/continuous/*.py",
    "unit/structures/frame/**/*.py", "unit/structures/solid/*.py", "unit/studies/identification/*.py",
    "unit/solve/motion/test_forward.py", "interop/test_control_peers.py", "interop/test_state_space_peers.py",
)  # fmt: skip


def find_kernels() -> list[str]:
    """Kernels that this processor can run, the least alike first; none where its abilities are not known."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        return []
    needed = {"Prescott": {"pni"}, "Haswell": {"fma", "avx2"}, "Sandybridge": {"avx"}, "SkylakeX": {"avx512f"}}
    return [name for name, abilities in needed.items() if abilities <= flags]


def main(jobs: str, every: bool) -> int:
    absent = [pattern for pattern in DECISIONS + VALUES if not any(TESTS.glob(pattern))]
    if absent:
        print(f"no file of tests: {', '.join(absent)}")
        return 1
    patterns = DECISIONS + VALUES if every else DECISIONS
    files = sorted({path for pattern in patterns for path in TESTS.glob(pattern) if path.name.startswith("test_")})
    chosen = find_kernels() if every else find_kernels()[:1]
    command = [sys.executable, "-m", "pytest", "-q", "-n", jobs, "--dist", "loadfile", "-m", "not slow"]
    for kernel in chosen:
        print(f"{len(files)} files of tests under the {kernel} kernels of OpenBLAS", flush=True)
        environment = {"DALEMBERT_TEST_PROFILE": "quick" if every else "few", **os.environ, "OPENBLAS_CORETYPE": kernel}
        ended = subprocess.run([*command, *map(str, files)], env=environment)
        if ended.returncode:
            return ended.returncode
    return 0


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--all"]
    raise SystemExit(main(words[0] if words else "auto", "--all" in sys.argv))
