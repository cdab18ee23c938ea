"""Model files: a machine as TOML or JSON, with units, expressions and includes, and a library of them.

    name = "pendulum"
    planar = true                                  # motion in the x-y plane; gravity along -y unless given

    [parameters]                                   # stay symbolic: eqs.replace(length=0.3)
    length = "500 mm"
    half = "length/2"                              # follows length

    [constants]                                    # numbers for use in this file only
    tilt = "30 deg"

    [bodies.rod]
    mass = 1.2                                     # plain numbers are SI
    inertia = { rod = "length" }                   # or a number, 3 numbers, a 3x3 matrix, box, cylinder, sphere,
    points = { tip = ["half", 0] }                 #   composite = [...], or mesh = "part.stl" with a density
                                                   # a flexible body: flexible = "rod.npz", or a table beam, instead

    [joints.hinge]
    type = "revolute"
    a = "ground"                                   # a body, "rod.tip", "rod(-half, 0)",
    b = "rod(-half, 0)"                            #   or { body = "rod", at = [0, 0], angle = "tilt" }

    [forces.motor]
    type = "actuator"
    joint = "hinge"
    effort = "-0.1*hinge.rate - 2*sin(3*t)"        # laws are expressions of t, coordinates, rates, inputs, parameters

    [sensors.encoder]
    type = "angle"
    joint = "hinge"

    [include.left]                                 # another file; its names become left.rod, left.hinge, ...
    file = "parts/leg.toml"
    ground = "rod"                                 # what that file calls ground
    parameters = { length = "2*length" }

    [start]                                        # da.assemble(eqs, **m.start)
    position = { "hinge.angle" = "10 deg" }

    [simulate]                                     # da.simulate(eqs, start=..., **m.simulation)
    until = "10 s"
    method = { type = "RK4", step = "1 ms" }

Further sections: ground (points), couplers (gears), drivers, constraints, variables. ``schema.json`` beside this file
lists all keys for editors. Nothing in a file is executed; size, nesting, number of parts and includes are bounded.
"""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.files.models.reading import library_path as library_path
    from dalembert.files.models.reading import list_models as list_models
    from dalembert.files.models.reading import parse_model as parse_model
    from dalembert.files.models.reading import read_model as read_model
    from dalembert.files.models.schema.json_schema import model_schema as model_schema
    from dalembert.files.models.schema.json_schema import schema_path as schema_path
    from dalembert.files.models.text.sources import ModelFileError as ModelFileError
    from dalembert.files.models.writing import write_model as write_model

__all__ = attach(__name__)
