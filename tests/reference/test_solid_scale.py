"""A solid of 50 000 coordinates is assembled and reduced within a few gigabytes."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("skfem")

PROGRAM = """
import json, resource
import numpy as np
from dalembert.structures import Solid, assemble_structure, box_mesh, craig_bampton

solid = Solid("cube", box_mesh((1.0, 1.0, 1.0), (25, 25, 25)), "steel")
places = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)] + [(0.5, 0.5, 0), (0.5, 0.5, 1)]
for k, (a, b, c) in enumerate(places):
    solid.add_interface(f"i{k}", lambda x, y, z: (abs(x - a) < 0.09) & (abs(y - b) < 0.09) & (abs(z - c) < 0.01))
model = assemble_structure(solid)
masters = [f"i{k}.{way}" for k in range(10) for way in ("x", "y", "z", "rx", "ry", "rz")]
reduced = craig_bampton(model.system(), masters, modes=20)
frequencies = reduced.system.modes().frequencies_hz
print(json.dumps({
    "free": len(model.free), "size": len(reduced.system.coordinates), "hz": frequencies[:8].tolist(),
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "mass": model.mass(),
}))
"""


@pytest.mark.slow
def test_craig_bampton_of_50_000_coordinates_stays_below_4_gigabytes():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=900, check=True)
    found = json.loads(done.stdout)
    assert found["free"] > 50_000 and found["size"] == 60 + 20
    assert found["peak"] < 4e9
    assert found["mass"] == pytest.approx(7850.0)
    assert max(abs(f) for f in found["hz"][:6]) < 1e-2 * found["hz"][6]
