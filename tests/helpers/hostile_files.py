"""Files made to take memory or time without end, read in a process of its own with little memory.

Each is refused, or read where its work is linear in its size. ``python -m tests.helpers.hostile_files`` prints a line
of JSON per case: its name, the code of the error or "read", and seconds of CPU.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dalembert as da
from dalembert.files.modal.geometry import read_geometry
from dalembert.files.models.format import model_suffixes
from tests.helpers.fuzz_worker import limit

MEMORY = 200_000_000  # bytes above those of the start: meshes and pictures of a robot may take 72 MB each

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
ROBOT = f"""<robot name="r"><link name="base"/><joint name="free" type="floating"><parent link="base"/>
<child link="part"/></joint><link name="part">{INERTIAL}<visual><geometry><mesh filename="m.obj"/></geometry></visual>
</link></robot>"""


def obj(*blocks: tuple[str, int]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "m.obj").write_text("".join(text * times for text, times in blocks))
        (folder / "r.urdf").write_text(ROBOT)
        return folder / "r.urdf"

    return make


def large_obj(folder: Path) -> Path:
    with (folder / "m.obj").open("wb") as file:
        file.truncate(50_000_000)
    (folder / "r.urdf").write_text(ROBOT)
    return folder / "r.urdf"


def many_includes(folder: Path) -> Path:
    for k in range(64):
        (folder / f"i{k}.xml").write_text("<mujoco>" + "<a/>" * 19_000 + "</mujoco>")
    includes = "".join(f'<include file="i{k}.xml"/>' for k in range(64))
    (folder / "m.xml").write_text(f"<mujoco>{includes}<worldbody/></mujoco>")
    return folder / "m.xml"


def spheres(count: int) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        geoms = '<geom size="0.1"/>' * count
        (folder / "m.xml").write_text(f"<mujoco><worldbody><body><joint/>{geoms}</body></worldbody></mujoco>")
        return folder / "m.xml"

    return make


def link_to(target: str, suffix: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        if target == "pipe":
            os.mkfifo(folder / "pipe")
        (folder / f"m{suffix}").symlink_to(folder / "pipe" if target == "pipe" else target)
        return folder / f"m{suffix}"

    return make


def many_modes(folder: Path) -> Path:
    (folder / "m.csv").write_text("frequency_hz,a1\n" + "1,1\n" * 900_000)
    return folder / "m.csv"


def modal_json(item: str, size: int = 16_000_000) -> Callable[[Path], Path]:
    """Modes with many small values: up to 40 times their text as objects."""

    def make(folder: Path) -> Path:
        items = ",".join([item] * ((size - 100) // (len(item) + 1)))
        text = f'{{"coordinates": ["a"], "modes": [{{"frequency_hz": 1, "shape": [{items}]}}]}}'
        (folder / "m.json").write_text(text)
        return folder / "m.json"

    return make


def many_sensors(folder: Path) -> Path:
    (folder / "g.csv").write_text("name,x,y,z,direction\n" + "".join(f"s{k},0,0,0,x\n" for k in range(20_000)))
    return folder / "g.csv"


def match(path: Path) -> None:
    read_geometry(path).match([f"c{k}" for k in range(2_000)])


# how it is made, how it is read, and how that ends
CASES: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Any], str]] = {
    "obj of 50 MB": (large_obj, da.read_urdf, "read no-picture"),
    "obj of large faces": (obj(("v 0 0 0\n", 3), ("f " + "1 " * 999 + "\n", 2000)), da.read_urdf, "read no-picture"),
    "obj of points": (obj(("v 0 0 0\n", 1_100_000), ("f 1 2 3\n", 1)), da.read_urdf, "read no-picture"),
    "includes": (many_includes, da.read_mjcf, "too-large"),
    "geoms": (spheres(30_000), da.read_mjcf, "too-large"),
    "pictures of geoms": (spheres(3_000), da.read_mjcf, "read no-picture"),
    "geoms without pictures": (spheres(3_000), lambda path: da.read_mjcf(path, pictures=False), "read"),
    **{f"{target} as {suffix}": (link_to(target, suffix), da.read_model, "not-readable")
       for target in ("pipe", "/dev/zero") for suffix in model_suffixes()},
    "modes": (many_modes, da.read_modes, "too-large"),
    **{f"modal JSON of {item}": (modal_json(item), da.read_modes, "too-large")
       for item in ("[]", "{}", '{"a":1}', '""', "1.5", "0")},
    "sound modal JSON": (modal_json("-1.2345678901234567e-01", 5_000_000), da.read_modes, "wrong-shape"),
    "sensors": (many_sensors, match, "read"),
}  # fmt: skip


def main() -> None:
    for name, (make, read, _) in CASES.items():
        with tempfile.TemporaryDirectory() as scratch:
            path = make(Path(scratch))
            limit(MEMORY)
            begun = time.process_time()
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", da.errors.ModelWarning)
                    read(path)
                # a picture that is left out stops nothing
                codes = sorted({one.message.code for one in caught if isinstance(one.message, da.errors.ModelWarning)})
                ended = " ".join(["read", *codes])
            except da.errors.DalembertError as error:
                ended = error.code
            except BaseException as error:
                ended = repr(error)
            limit(None)
            print(json.dumps([name, ended, round(time.process_time() - begun, 2)]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
