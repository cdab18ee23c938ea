"""Collada meshes of robots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileFormatError
from dalembert.files.robots.collada import read_collada
from tests.helpers.findings import raises

SQUARE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><asset><unit meter="0.01"/></asset>
<library_geometries><geometry id="g"><mesh>
 <source id="p"><float_array id="a" count="12">0 0 0 100 0 0 100 100 0 0 100 0</float_array></source>
 <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
 {faces}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>0 0 200</translate><rotate>0 0 1 90</rotate>
 <node><scale>2 1 1</scale><instance_geometry url="#g"/></node></node></visual_scene></library_visual_scenes>
</COLLADA>"""
INPUTS = '<input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>'
FACES = {
    "triangles": f'<triangles count="2">{INPUTS}<p>0 0 1 0 2 0 0 0 2 0 3 0</p></triangles>',
    "polylist": f'<polylist count="1">{INPUTS}<vcount>4</vcount><p>0 0 1 0 2 0 3 0</p></polylist>',
    "polygons": f'<polygons count="1">{INPUTS}<p>0 0 1 0 2 0 3 0</p></polygons>',
}


def written(folder: Path, faces: str) -> Path:
    path = folder / "square.dae"
    path.write_text(SQUARE.format(faces=faces))
    return path


@pytest.mark.parametrize("kind", FACES)
def test_a_scene_places_its_geometries_in_metres(tmp_path: Path, kind: str) -> None:
    found, _ = read_collada(written(tmp_path, FACES[kind]), 10**6, 100)
    expected = [[[0, 0, 2], [0, 2, 2], [-1, 2, 2]], [[0, 0, 2], [-1, 2, 2], [-1, 0, 2]]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("own", "colors"), [("", ((0, 1, 0x00BF00),)), ("1 0 0 1", ((0, 2, 0xFF0000),))])
def test_materials_of_a_mesh_color_the_shapes_of_a_robot_that_has_no_color(
    tmp_path: Path, own: str, colors: tuple[tuple[int, int, int], ...]
) -> None:
    faces = "".join(f'<triangles count="1" material="{k}">{INPUTS}<p>0 0 1 0 2 0</p></triangles>' for k in "ab")
    bound = """<instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="a" target="#m"/>
      <instance_material symbol="b" target="#none"/></technique_common></bind_material></instance_geometry>"""
    text = SQUARE.format(faces=faces).replace('<instance_geometry url="#g"/>', bound)
    library = """<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
      <library_effects><effect id="e"><profile_COMMON><technique><phong><diffuse><color>0 0.75 0 1</color></diffuse>
      </phong></technique></profile_COMMON></effect></library_effects></COLLADA>"""
    (tmp_path / "square.dae").write_text(text.replace("</COLLADA>", library))
    paint = f'<material name="own"><color rgba="{own}"/></material>' if own else ""
    (tmp_path / "arm.urdf").write_text(f"""<robot name="arm"><link name="base"/><link name="arm">
      <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
      <visual><geometry><mesh filename="square.dae"/></geometry>{paint}</visual></link>
      <joint name="A" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>""")
    assert da.read_urdf(tmp_path / "arm.urdf")["arm"].colors == colors


BAD = {
    "no faces": ("", "empty"),
    "no such point": (FACES["polygons"].replace("3 0</p>", "4 0</p>"), "bad-syntax"),
    "half a corner": (FACES["polygons"].replace("3 0</p>", "3</p>"), "bad-syntax"),
    "words": (FACES["polygons"].replace("3 0</p>", "three 0</p>"), "bad-syntax"),
    "offset in words": (FACES["polygons"].replace('offset="0"', 'offset="none"'), "bad-syntax"),
    "no positions": (FACES["polygons"].replace("#v", "#w"), "bad-syntax"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_file_is_refused(tmp_path: Path, what: str) -> None:
    faces, code = BAD[what]
    with raises(FileFormatError, code):
        read_collada(written(tmp_path, faces), 10**6, 100)


def test_triangles_and_bytes_are_bounded(tmp_path: Path) -> None:
    path = written(tmp_path, FACES["triangles"])
    with raises(FileFormatError, "too-large"):
        read_collada(path, 10**6, 1)
    with raises(FileFormatError, "too-large"):
        read_collada(path, 100, 100)
