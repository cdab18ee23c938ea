"""Malformed MJCF files: each is refused with its file and line, and nothing is imported."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import dalembert as da
from dalembert.errors import FileFormatError, ModelWarning
from tests.helpers.findings import raises

GOOD = """<mujoco model="arm">
  <compiler angle="radian"/>
  <default><geom type="capsule" size=".05" contype="0" conaffinity="0"/>
    <default class="light"><geom density="100"/></default></default>
  <asset><mesh name="cube" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>
  <worldbody>
    <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" range="-1 1" damping=".1"/>
      <geom fromto="0 0 0 0 0 .4"/><site name="s"/>
      <body name="fore" pos="0 0 .4" quat="1 0 0 0"><joint name="elbow" axis="0 1 0"/>
        <inertial pos="0 0 .1" mass="1" diaginertia=".1 .1 .02"/>
      </body>
      <body name="ball" pos=".1 0 0"><joint name="wrist" type="ball"/><geom type="sphere" size=".1"/></body>
    </body>
  </worldbody>
  <equality><joint joint1="elbow" joint2="shoulder"/></equality>
  <actuator><motor name="m" joint="elbow"/></actuator>
</mujoco>
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD, old
    return GOOD.replace(old, new, 1)


def with_body(inside: str) -> str:
    return changed("</worldbody>", f'<body name="more"><geom size=".1" type="sphere"/>{inside}</body></worldbody>')


def with_equality(one: str) -> str:
    return changed("</equality>", f"{one}</equality>")


def with_actuator(one: str) -> str:
    return changed("</actuator>", f"{one}</actuator>")


BAD = {
    "broken XML": (changed("</actuator>", ""), "bad-syntax"),
    "another root": ("<model/>", "bad-syntax"),
    "document type": (changed("<mujoco", "<!DOCTYPE mujoco><mujoco"), "not-supported"),
    "entity expansion": ('<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><mujoco model="&b;"/>', "not-supported"),
    "entity of another file": ('<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><mujoco/>', "not-supported"),
    "too deep": ("<mujoco>" + "<body>" * 80 + "</body>" * 80 + "</mujoco>", "too-large"),
    "no world": ("<mujoco><option/></mujoco>", "empty"),
    "no bodies": ("<mujoco><worldbody/></mujoco>", "no-bodies"),
    "misspelt section": (changed("<equality>", "<equaliti>").replace("</equality>", "</equaliti>"), "unknown-name"),
    "misspelt element": (changed('<site name="s"/>', '<goem size=".1"/>'), "unknown-name"),
    "misspelt attribute": (changed('range="-1 1"', 'rnage="-1 1"'), "unknown-name"),
    "body twice": (changed('name="fore"', 'name="upper"'), "several-problems"),
    "joint twice": (changed('name="elbow" axis', 'name="shoulder" axis'), "several-problems"),
    "site twice": (changed('<site name="s"/>', '<site name="s"/><site name="s"/>'), "duplicate"),
    "free joint inside": (changed('<joint name="elbow" axis="0 1 0"/>', '<freejoint name="elbow"/>'),
                          "conflicting-arguments"),
    "free joint beside another": (with_body('<freejoint/><joint name="j"/>'), "conflicting-arguments"),
    "two balls": (with_body('<joint name="j" type="ball"/><joint name="k" type="ball"/>'), "conflicting-arguments"),
    "joint of the world": (changed("<worldbody>", "<worldbody><joint/>"), "not-supported"),
    "unknown joint": (changed('type="ball"', 'type="cylindrical"'), "unknown-choice"),
    "axis without direction": (changed('axis="0 1 0" range', 'axis="0 0 0" range'), "zero-length"),
    "crossed limits": (changed('range="-1 1"', 'range="1 -1"'), "conflicting-arguments"),
    "range without a word": (changed('angle="radian"', 'autolimits="false"'), "missing-argument"),
    "negative damping": (changed('damping=".1"', 'damping="-.1"'), "negative"),
    "negative mass": (changed('mass="1"', 'mass="-1"'), "several-problems"),
    "negative mass of a geom": (with_body('<joint/><geom size=".1" type="sphere" mass="-2"/>'), "negative"),
    "impossible inertia": (changed(".1 .1 .02", ".1 .1 .9"), "not-physical"),
    "inertia given twice": (changed('diaginertia=".1 .1 .02"', 'fullinertia="1 1 1 0 0 0" quat="1 0 0 0"'),
                            "conflicting-arguments"),
    "inertial without a place": (changed('<inertial pos="0 0 .1"', "<inertial"), "missing-argument"),
    "two inertials": (changed('<inertial pos="0 0 .1"', '<inertial pos="0 0 0" mass="1"/><inertial pos="0 0 .1"'),
                      "duplicate"),
    "no mass": (changed("</worldbody>", '<body name="more"><joint/></body></worldbody>'), "massless-body"),
    "not a number": (changed('mass="1"', 'mass="one"'), "several-problems"),
    "not finite": (changed('pos="0 0 1"', 'pos="0 0 nan"'), "not-a-number"),
    "two numbers": (changed('pos="0 0 .4"', 'pos="0 .4"'), "not-a-number"),
    "millimetres": (changed('pos="0 0 .4"', 'pos="0 0 400"'), "out-of-range"),
    "millimetres of a geom": (changed('fromto="0 0 0 0 0 .4"', 'fromto="0 0 0 0 0 400"'), "out-of-range"),
    "quaternion of zeros": (changed('quat="1 0 0 0"', 'quat="0 0 0 0"'), "zero-length"),
    "two orientations": (changed('quat="1 0 0 0"', 'quat="1 0 0 0" euler="0 0 0"'), "conflicting-arguments"),
    "parallel axes": (changed('quat="1 0 0 0"', 'xyaxes="1 0 0 2 0 0"'), "parallel"),
    "unknown geom": (with_body('<geom type="cone" size=".1"/>'), "unknown-choice"),
    "geom without a size": (with_body('<geom type="box" size=".1"/>'), "not-positive"),
    "geom without a length": (changed('fromto="0 0 0 0 0 .4"', 'fromto="0 0 0 0 0 0"'), "several-problems"),
    "ends of a ball": (with_body('<geom type="sphere" size=".1" fromto="0 0 0 1 0 0"/>'), "conflicting-arguments"),
    "unknown class": (changed('name="upper"', 'name="upper" childclass="heavy"'), "several-problems"),
    "class twice": (changed("</default></default>", '</default><default class="light"/></default>'), "duplicate"),
    "class without a name": (changed("</default></default>", "</default><default/></default>"), "bad-name"),
    "outermost class with a name": (changed("<default><geom", '<default class="all"><geom'), "several-problems"),
    "unknown mesh": (with_body('<geom type="mesh" mesh="sphere"/><joint/>'), "unknown-name"),
    "mesh twice": (changed("</asset>", '<mesh name="cube" file="a.stl"/></asset>'), "duplicate"),
    "missing mesh": (changed('vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"', 'file="cube.stl"').replace(
        "<site", '<geom type="mesh" mesh="cube"/><site'), "no-such-file"),
    "mesh outside": (changed('vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"', 'file="../../etc/cube.stl"').replace(
        "<site", '<geom type="mesh" mesh="cube"/><site'), "outside-folder"),
    "flat mesh": (changed("0 .1 0 0 0 .1", "0 .1 0 0 .2 0").replace(
        "<site", '<geom type="mesh" mesh="cube"/><site'), "no-volume"),
    "face of nothing": (changed('0 0 .1"/></asset>', '0 0 .1" face="0 1 9"/></asset>').replace(
        "<site", '<geom type="mesh" mesh="cube"/><site'), "out-of-range"),
    "missing include": (changed("<worldbody>", '<include file="more.xml"/><worldbody>'), "no-such-file"),
    "include outside": (changed("<worldbody>", '<include file="../more.xml"/><worldbody>'), "outside-folder"),
    "include of itself": (changed("<worldbody>", '<include file="model.xml"/><worldbody>'), "duplicate"),
    "global coordinates": (changed('angle="radian"', 'coordinate="global"'), "not-supported"),
    "unknown angle": (changed('angle="radian"', 'angle="grad"'), "unknown-choice"),
    "unknown sequence": (changed('angle="radian"', 'eulerseq="abc"'), "unknown-choice"),
    "unknown flag": (changed('angle="radian"', 'balanceinertia="perhaps"'), "unknown-choice"),
    "equality of an unknown body": (with_equality('<weld body1="hand"/>'), "unknown-name"),
    "equality of an unknown site": (with_equality('<connect site1="s" site2="t"/>'), "unknown-name"),
    "equality of an unknown joint": (with_equality('<joint joint1="knee"/>'), "unknown-name"),
    "equality of a ball": (with_equality('<joint joint1="wrist" joint2="elbow"/>'), "not-supported"),
    "equality with itself": (with_equality('<weld body1="fore" body2="fore"/>'), "same-body"),
    "joint that follows itself": (with_equality('<joint joint1="elbow" joint2="elbow"/>'), "same-coordinate"),
    "connect without an anchor": (with_equality('<connect body1="fore"/>'), "missing-argument"),
    "actuator of an unknown joint": (with_actuator('<motor joint="knee"/>'), "unknown-name"),
    "actuator of nothing": (with_actuator("<motor/>"), "missing-argument"),
}  # fmt: skip


def test_the_model_that_is_spoilt_is_good(tmp_path: Path) -> None:
    (tmp_path / "model.xml").write_text(GOOD)
    assert len(da.read_mjcf(tmp_path / "model.xml").bodies) == 3


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_file_is_refused_with_its_line(tmp_path: Path, what: str) -> None:
    text, code = BAD[what]
    path = tmp_path / "model.xml"
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings(), pytest.raises(FileFormatError) as caught:
        warnings.simplefilter("ignore", ModelWarning)
        da.read_mjcf(path)
    assert caught.value.code == code, str(caught.value)
    assert caught.value.line is not None
    assert caught.value.path == str(path)


def test_a_problem_of_an_included_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(
        '<mujocoinclude>\n <body name="more">\n  <geom size="-1"/></body></mujocoinclude>'
    )
    (tmp_path / "model.xml").write_text(changed("</worldbody>", '<include file="part.xml"/></worldbody>'))
    with raises(FileFormatError, "not-positive") as caught:
        da.read_mjcf(tmp_path / "model.xml")
    assert (caught.value.path, caught.value.line) == ("part.xml", 3)


def test_a_file_is_included_once(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text("<mujocoinclude><option/></mujocoinclude>")
    twice = '<include file="part.xml"/><include file="part.xml"/><worldbody>'
    (tmp_path / "model.xml").write_text(changed("<worldbody>", twice))
    with raises(FileFormatError, "duplicate"):
        da.read_mjcf(tmp_path / "model.xml")


def test_something_else_than_a_path_is_refused() -> None:
    with raises(FileFormatError, "wrong-type"):
        da.read_mjcf(5)  # type: ignore[arg-type]


# ---- edges of thresholds


def test_ranges_of_tendons_do_not_act_and_are_listed_once(tmp_path: Path) -> None:
    fixed = '<fixed {}><joint joint="elbow" coef="1"/></fixed>'
    many = ("range='-1 1'", "range='-2 2'", "range='-1 1' limited='false' frictionloss='1'")
    (tmp_path / "m.xml").write_text(
        changed("</mujoco>", f"<tendon>{''.join(map(fixed.format, many))}</tendon></mujoco>"), encoding="utf-8"
    )
    with pytest.warns(ModelWarning) as caught:
        m = da.read_mjcf(tmp_path / "m.xml")
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "range of <fixed> of <tendon> (2)" in text and "frictionloss of <fixed> of <tendon> (1)" in text
    assert sum("of <tendon>" in one.problem for one in m.left_out) >= 2
