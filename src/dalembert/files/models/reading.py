"""Model files: TOML or JSON to a `Mechanism`, with every problem of every file at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dalembert.core.errors import FileFormatError, ModelError
from dalembert.core.findings import Finding
from dalembert.files.models.format import check_options, find_format, model_suffixes
from dalembert.files.models.tables.bodies import add_bodies
from dalembert.files.models.tables.parts import add_parts, law_of_time
from dalembert.files.models.text import limits
from dalembert.files.models.text.sources import ModelSource, Problems, TooMany, parse_source, read_source
from dalembert.files.models.values.includes import add_includes
from dalembert.files.models.values.laws import InputLaw
from dalembert.files.models.values.scopes import Folders, Parts, Scope, Skip, Where, describe_unknown
from dalembert.model import Body, Mechanism
from dalembert.model.check import coordinate_names, mode_names
from dalembert.model.mechanism import NamedStart
from dalembert.model.orientation import rotation

LIBRARY = Path(__file__).resolve().parents[2] / "library"


def list_models() -> tuple[str, ...]:
    """Names of the ready machines, each to be had with ``da.read_model(name)``.

    Examples
    --------
    >>> "four-bar" in list_models()
    True
    """
    return tuple(_library_files())


def _library_files() -> dict[str, Path]:
    """Files of the library by name."""
    return {path.stem: path for path in sorted(LIBRARY.iterdir()) if path.suffix in model_suffixes()}


def library_path(name: str) -> Path:
    """The file of a ready machine, to be read or copied."""
    files = _library_files()
    if name not in files:
        raise ModelError("unknown-name", describe_unknown("library model", name, files), where={"name": name})
    return files[name]


def read_model(path: str | os.PathLike[str], *, allow_outside: bool = False, **options: Any) -> Mechanism:
    """Read a machine from a model file or a robot file, or from the library by its name.

    Parameters
    ----------
    path : a ``.toml`` or ``.json`` file, ``.urdf`` or ``.xml`` (URDF or MJCF), or a name of `library`. Nothing in a
        file is executed.
    allow_outside : let it include files, meshes and data of flexible bodies that are not in its folder.
    options : those of the format's own reader, such as ``base`` and ``folders`` of `read_urdf`.

    Returns
    -------
    Mechanism. Parameters of the file stay symbolic (``eqs.replace(length=0.3)``); ``start`` holds where the motion
    starts (``da.assemble(eqs, **m.start)``) and ``simulation`` the defaults of a run (``da.simulate(eqs,
    **m.simulation)``), as far as the file has them.

    Raises
    ------
    FileFormatError : lists every problem with its file and line.

    Examples
    --------
    >>> m = read_model("pendulum")
    >>> m.joints
    [Joint('hinge', revolute, ground–rod)]
    """
    try:
        name_ = os.fspath(path)
    except TypeError:
        problem = f"expected the path of a model file or the name of a library model, got {path!r}."
        raise FileFormatError("wrong-type", problem) from None
    shown = os.fsdecode(name_)
    if shown in list_models():  # no file has such a name, since model files have a suffix
        file = library_path(shown)
        shown = file.name
    else:
        file = Path(shown)
        if not file.suffix:
            problem = f"not a model file, and {describe_unknown('library model', shown, list_models())}"
            raise FileFormatError("unknown-name", problem, path=shown)
    format = find_format(file, shown)
    if allow_outside and any(option.name == "allow_outside" for option in format.options):
        options["allow_outside"] = True
    return format.read(file, shown, **check_options(format, options, shown))


def read_model_file(file: Path, shown: str, *, allow_outside: bool) -> Mechanism:
    """Read a machine from a TOML or JSON file; messages name it as shown."""
    source = read_source(file, shown, Problems())
    resolved = Path(os.path.realpath(file))
    folders = Folders(resolved.parent, allow_outside)
    folders.trail.append(resolved)
    return _build(source, folders)


def parse_model(text: str | bytes, *, is_json: bool = False, name: str = "model") -> Mechanism:
    """Read a machine from the text of a model file; it cannot include other files."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return _build(parse_source(content, name, Problems(), is_json=is_json), Folders(None, False))


def _build(source: ModelSource, folders: Folders) -> Mechanism:
    try:
        m = _read_parts(source, folders)
    except TooMany:
        m = Mechanism("model")
    source.problems.raise_if_any()
    return m


def _read_parts(source: ModelSource, folders: Folders) -> Mechanism:
    from dalembert.files.models.repair import validate

    model = validate(source)
    name = "" if model is None else model.name.strip()
    title = name or Path(source.path).stem.strip() or "model"
    m = Mechanism(title, planar=bool(model is not None and model.planar), gravity=0)
    m.description = (model.description or "") if model is not None else ""
    if model is not None:
        parts = Parts(m)
        scope = Scope(source, model, parts, "", m.ground, folders)
        scope.define({})
        with scope.part(("gravity",)):
            m.gravity = _gravity(scope, model)
        _fill(scope)
        _settle_names(scope)
    return m


def _gravity(scope: Scope, model: Any) -> Any:
    if model.gravity is None:
        return Mechanism("model", planar=model.planar).gravity
    return Mechanism("model", planar=model.planar, gravity=scope.get(model, "gravity", ())).gravity


def _fill(scope: Scope) -> None:
    """Everything of one file, each section after those it needs."""
    if len(scope.m.bodies) + len(scope.model.bodies) > limits.BODIES:
        problem = f"more than {limits.BODIES} bodies with those of the included files."
        scope.source.report(("bodies",), "too-large", problem)
        return
    add_bodies(scope)
    add_includes(scope, _include)
    add_parts(scope)
    _add_start(scope)
    if not scope.prefix:
        _add_simulation(scope)
    if scope.source.remains:
        from dalembert.files.models.values.remaining_checks import check_remains

        check_remains(scope)


def _include(source: ModelSource, outer: Scope, name: str, table: Any) -> None:
    """One included file: its names preceded by ``name.``, its ground a body of the outer file."""
    from dalembert.files.models.repair import validate

    where: Where = ("include", name)
    model = validate(source)
    if model is None:
        raise Skip
    if model.planar != outer.m.planar:
        kinds = ("planar", "spatial") if outer.m.planar else ("spatial", "planar")
        problem = f"this file is {kinds[0]}, {table.file!r} is {kinds[1]}."
        raise outer.refuse((*where, "file"), "not-supported", problem)
    ground: Body = outer.body(table.ground, (*where, "ground"))
    values = {}
    for key, raw in table.parameters.items():
        place = (*where, "parameters", key)
        names = [*model.constants, *model.parameters]
        if key not in names:
            outer.source.report(place, "unknown-name", describe_unknown("parameter", key, names, repr(table.file)))
            continue
        tree = outer.parse(raw, place)
        values[key] = (outer.resolve(tree, place), outer.dimension(tree, place))
    scope = Scope(source, model, outer.parts, f"{outer.prefix}{name}.", ground, outer.folders)
    scope.define(values)
    _fill(scope)


# -- start and simulation -------------------------------------------------------------------------------------------
def _add_start(scope: Scope) -> None:
    table, m = scope.model.start, scope.m
    for key in ("position", "velocity", "guess", "internal"):
        if targets := _targets(scope, getattr(table, key), ("start", key)):
            m.start.setdefault(key, {}).update(targets)
    for start_name, start in scope.model.starts.items():
        parts = (
            _targets(scope, getattr(start, key), ("starts", start_name, key))
            for key in ("position", "velocity", "inputs")
        )
        m.starts[scope.full(start_name)] = NamedStart(*parts)
    for k, name in enumerate(scope.model.loops):
        joint, where = scope.full(name), ("loops", k)
        if joint in (joints := [joint.name for joint in m.joints]) or scope.parts.is_refused(joint):
            m.loops.append(joint)
        else:
            scope.source.report(where, "unknown-name", describe_unknown("joint", name, joints))
    if table.t != 0.0 and not scope.prefix:
        with scope.part(("start", "t")):
            m.start["t"] = float(scope.get(table, "t", ("start",)))


def _targets(scope: Scope, given: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """Numbers by name, and rotations as quaternions; the names are checked in the whole mechanism."""
    values: dict[str, Any] = {}
    for name, raw in given.items():
        here = (*where, name)
        with scope.part(here):
            value = scope.numbers(raw, "", here)
            turned = isinstance(value, list)
            values[scope.full(name)] = rotation(quaternion=[*map(float, value)]) if turned else float(value)
            if where[-1] not in ("internal", "inputs") and not turned:
                scope.parts.laws.append((scope.source, here, [scope.full(name)], scope.prefix))
    return values


def _add_simulation(scope: Scope) -> None:
    table, simulation = scope.model.simulate, scope.m.simulation
    for key in ("until", "every"):
        with scope.part(("simulate", key)):
            value = scope.get(table, key, ("simulate",))
            if value is not None:
                problem = f"{key} must be positive, got {float(value):g}."
                scope.refuse_if(not float(value) > 0, ("simulate", key), "not-positive", problem)
                simulation[key] = float(value)
    inputs = {}
    for name, raw in table.inputs.items():
        where: Where = ("simulate", "inputs", name)
        with scope.part(where):
            if name not in scope.m.inputs():
                if name in _refused_inputs(scope):
                    raise Skip
                names = [*scope.m.inputs(), *_refused_inputs(scope)]
                raise scope.refuse(where, "unknown-name", describe_unknown("input", name, names))
            law = law_of_time(scope, raw, where, InputLaw)
            inputs[name] = law if callable(law) else float(law)
    if inputs:
        simulation["inputs"] = inputs
    if table.method is not None:
        with scope.part(("simulate", "method")):
            simulation["method"] = _method(scope, table.method)


def _refused_inputs(scope: Scope) -> list[str]:
    """Inputs of forces that could not be made."""
    tables = [scope.source.document["forces"][name] for name in scope.refused_names("forces")]
    names = [table.get("input") for table in tables if isinstance(table, dict)]
    return [name for name in names if isinstance(name, str)]


def _method(scope: Scope, table: Any) -> Any:
    from pydantic import ValidationError

    from dalembert.files.models.schema.methods import keys_table
    from dalembert.files.models.schema.validation import finding_of
    from dalembert.files.models.schema.values import declared_kind
    from dalembert.solve.integrate.method import INTEGRATORS, options_of

    where: Where = ("simulate", "method")
    if table.type not in INTEGRATORS:
        raise scope.refuse(
            (*where, "type"), "unknown-name", describe_unknown("method of integration", table.type, INTEGRATORS)
        )
    kind = INTEGRATORS[table.type]
    options, values = options_of(kind), table.model_extra
    for key in values:
        if key not in options:
            raise scope.refuse((*where, key), "unknown-argument", describe_unknown("option", key, options, table.type))
    missing = [key for key, option in options.items() if option.needed and key not in values]
    if missing:
        raise scope.refuse(where, "missing-argument", f"{table.type} needs the key {missing[0]!r}.")
    try:
        keys = keys_table(kind).model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        place = (*where, problem["loc"][0])
        finding = finding_of(problem, place)
        raise scope.refuse(place, finding.code, finding.problem) from None
    numbers = {key: declared_kind(keys, key) is not None for key in values}
    return kind(**{
        key: float(scope.get(keys, key, where)) if number else getattr(keys, key) for key, number in numbers.items()
    })  # fmt: skip


# -- names that can be checked in the whole mechanism only -----------------------------------------------------------
def _settle_names(scope: Scope) -> None:
    """The mechanism's own check, and the names in laws and start, each at its line."""
    parts, m = scope.parts, scope.m
    names = coordinate_names(m)
    states = _state_names(m, names)
    for source, where, used, prefix in parts.laws:
        for name in used:
            if name not in states and not parts.is_refused(name):
                kind, likely = _candidates(m, names, where)
                near = [n.removeprefix(prefix) for n in likely if n.startswith(prefix)]
                source.report(where, "unknown-name", describe_unknown(kind, name.removeprefix(prefix), near))
    refused = [n for n, (_, where) in parts.places.items() if where[0] == "joints" and n in parts.failed]
    refused += scope.refused_names("joints")
    states = {*names, *(joint.name for joint in m.joints)}
    for source, where, name, prefix in parts.wanted:
        if name not in states and not parts.is_refused(name):
            near = [n.removeprefix(prefix) for n in (*names, *refused) if n.startswith(prefix)]
            problem = describe_unknown("joint or coordinate", name.removeprefix(prefix), near)
            source.report(where, "unknown-name", problem)
    if _is_hopeless(scope, names):
        return
    for finding in m.problems():
        owners = [name for name in finding.where.values() if isinstance(name, str)]
        follows = any(map(parts.is_refused, owners)) or finding.code in ("loose-body", "no-bodies")
        if not (parts.failed and follows):
            source, where = next((parts.places[name] for name in owners if name in parts.places), (scope.source, ()))
            source.note(where, _add_refused(finding, names, refused))


def _add_refused(found: Finding, names: Mapping[str, str], refused: list[str]) -> Finding:
    """A finding about a joint that does not exist, with those among the known that could not be made."""
    if "sort" not in found.evidence or not refused:
        return found
    problem = describe_unknown(found.evidence["sort"], found.where["name"], [*names, *refused])
    return replace(found, problem=f"{found.evidence['what']}: {problem}")


def _candidates(m: Mechanism, names: Mapping[str, str], where: Where) -> tuple[str, list[str]]:
    """Word for the names that are possible at this place, and these names."""
    rates = _rates(m)
    full = list(dict.fromkeys(names.values()))
    if where[0] in ("start", "starts"):
        return "coordinate", [*full, *rates] if where[-2] == "velocity" else full
    inner = [name for force in m.forces for name, _ in force.states()]
    return "quantity", [*full, *rates, *m.inputs(), *m.parameters, *inner]


def _is_hopeless(scope: Scope, names: Mapping[str, str]) -> bool:
    """Note names that do not exist, or exist twice, by the hundred: the full check would take long over each."""
    m = scope.m
    used = [(force.name, target) for force in m.forces for target in force.values_of("coordinate", "joint")]
    used += [(driver.name, driver.coordinate) for driver in m.drivers]
    used += [
        (s.name, target) for s in m.sensors for target in s.measure.values_of("coordinate", "joint", "named force")
    ]
    targets = {*names, *(joint.name for joint in m.joints), *(force.name for force in m.forces)}
    wrong = [(part_, "unknown-name", f"there is no {target!r}.") for part_, target in used if target not in targets]
    parts: tuple[Any, ...] = (*m.bodies, *m.joints, *m.forces, *m.sensors, *m.drivers, *m.couplers)
    twice = [(name, count) for name, count in Counter(item.name for item in parts).items() if count > 1]
    wrong += [(name, "taken-name", f"name {name!r} is used {count} times.") for name, count in twice]
    if len(wrong) < limits.NAMES_CHECKED:
        return False
    for item, code, problem in wrong:
        source, where = scope.parts.places.get(item, (scope.source, ()))
        source.report(where, code, problem)
    return True


def _state_names(m: Mechanism, names: Mapping[str, str]) -> set[str]:
    """Every name a law of the state can use."""
    usable = {*names, *m.inputs(), *m.parameters, *_rates(m)}
    usable |= {f"{body.name}.{axis}" for body in m.bodies for axis in ("e0", "e1", "e2", "e3") if not m.planar}
    usable |= {f"{variable.name}.rate" for variable in m.variables}
    for force in m.forces:
        usable |= {name for name, _ in force.states()}
        usable |= {f"{rotor.name}{end}" for rotor in force.rotors() for end in ("", ".rate")}
    return usable


def _rates(m: Mechanism) -> list[str]:
    """Names of the rates of joints and modes and of the speeds of bodies."""
    rates = [f"{joint.name}.{rate}" for joint in m.joints for _, rate, _ in joint.coordinates]
    speeds = ("vx", "vy", "rate") if m.planar else ("vx", "vy", "vz", "wx", "wy", "wz")
    rates += [f"{body.name}.{speed}" for body in m.bodies for speed in speeds]
    return rates + [f"{mode}.rate" for body in m.bodies for mode in mode_names(body)]
