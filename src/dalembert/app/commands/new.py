"""``new``: a commented model file to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json, flag
from dalembert.app.command_line.model_options import complete_model, ready_file
from dalembert.app.command_line.registry import command

STARTER = """# A machine for dalembert. Check and run it with:
#
#     dalembert simulate {file} --report {name}.html
#     dalembert view {file}
#
# Numbers are in SI units (m, kg, s, rad); a text may have a unit, or calculate:
# 0.2, "200 mm", "90 deg", "rope/2".
# `dalembert schema --out model.schema.json` gives editors completion for this file; `dalembert library` shows more
# machines, and `dalembert new NAME --like four-bar` starts from one of them.

name = "{name}"
description = "A crane: a trolley on a rail, driven by a force, with a load on a rope. Change it into your machine."
planar = true                       # motion in the x-y plane, gravity along -y; leave it out for space (along -z)

# Named numbers. They can be changed without editing the file (--set rope="3 m") and swept (dalembert sweep).
[parameters]
rope = "4 m"                        # from the trolley to the middle of the load
load_mass = "500 kg"
drag = "50 N s/m"

# Bodies: mass, inertia about the centre of mass, and points by name, counted from the centre of mass.
[bodies.trolley]
mass = "200 kg"
inertia = {{ box = ["1 m", "0.4 m"] }}  # a shape gives the inertia: rod, box, cylinder, sphere

[bodies.load]
mass = "load_mass"
inertia = {{ box = ["0.8 m", "0.6 m"] }}
points = {{ hook = [0, "0.3 m"], top = [0, "rope"] }}  # a taut rope: the load swings about its upper end

# Joints connect a place on one body with a place on another; "ground" does not move.
[joints.rail]
type = "prismatic"                  # along x unless axis= is given
a = "ground"
b = "trolley"

[joints.pivot]
type = "revolute"
a = "trolley"
b = "load.top"

# Forces: springs, dampers, torques, friction, stops, contacts, motors.
[forces.drive]
type = "force"
point = "trolley"
force = [1, 0]
input = "drive"                     # driven from outside: --input "drive=200*sin(t)"

[forces.drag]
type = "damper"
joint = "rail"
damping = "drag"

# Sensors: channels that are recorded, and that filters and controllers read.
[sensors.place]
type = "displacement"
joint = "rail"

[sensors.sway]
type = "angle"
joint = "pivot"

[sensors.hook]
type = "position"
point = "load.hook"

# Where the motion starts.
[start.position]
"rail.displacement" = 0
"pivot.angle" = "0 deg"             # straight down

# Defaults of a run: the trolley is pushed for two seconds, then let go.
[simulate]
until = "20 s"
every = "20 ms"
inputs = {{ drive = "where(t < 2, 400, 0)" }}
"""


@command("Model files", position=1)
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the machine; NAME.toml or, of a robot, NAME.urdf.")
    ],
    like: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Begin with a machine of the library.", autocompletion=complete_model),
    ] = None,
    force: Annotated[bool, flag("--force", "Write over a file that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a commented starter model.

    Example: dalembert new crane --like cart-pendulum

    JSON: {"name", "files"}.
    """
    from dalembert.core.atomic_files import write_text

    begun = None if like is None else ready_file(like)
    suffix = ".toml" if begun is None else begun.suffix
    file = Path(name) if name.endswith(suffix) else Path(f"{name}{suffix}")
    title = file.stem
    if not re.fullmatch(r"[^\W_][\w .-]*", title):
        raise typer.BadParameter(f"{title!r}: begin with a letter or digit; letters, digits, - and _.")
    if file.exists() and not force:
        raise typer.BadParameter(f"{file} exists; --force writes over it.")
    if begun is None:
        text = STARTER.format(name=title, file=file.name)
    else:
        text = begun.read_text(encoding="utf-8")
        text = re.sub(r'^(name = |<robot name=)"[^"]*"', rf'\g<1>"{title}"', text, count=1, flags=re.MULTILINE)
    write_text(file, text)
    terminal.report_written(file)
    if as_json:
        terminal.give({"name": title, "files": [file]})
    else:
        terminal.say(f"try: dalembert simulate {file} --report {file.with_suffix('.html')}")
