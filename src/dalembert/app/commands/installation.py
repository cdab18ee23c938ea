"""``doctor`` and ``version``: what is installed here."""

from __future__ import annotations

import importlib.util
from typing import Any

from dalembert.app.commands import terminal
from dalembert.app.commands.running import Json

# package -> (module, what it is for)
OPTIONAL = {
    "h5netcdf": ("h5netcdf", "records as netCDF", "netcdf"),
    "pyarrow": ("pyarrow", "records as Parquet", "parquet"),
    "pandas": ("pandas", "records as tables", "data"),
    "xarray": ("xarray", "sweeps and records as datasets", "data"),
    "scikit-fem": ("skfem", "solid bodies", "solids"),
    "control": ("control", "exchange with python-control", "control"),
}


def doctor(as_json: Json = False) -> None:
    """Tell what this installation computes with: engine, compiler, cache, optional packages.

    JSON: {"versions": {...}, "compiler", "cache", "optional": {package: version or null}}.
    """
    from dalembert.expressions import building
    from dalembert.view.origin import versions

    optional = {package: _version(package, module) for package, (module, _, _) in OPTIONAL.items()}
    if as_json:
        found: dict[str, Any] = {"versions": versions(), "compiler": building.compiler()}
        terminal.give({**found, "cache": building.cache_folder(), "optional": optional})
        return
    terminal.show(building.doctor())
    rows = [
        (package, optional[package] or "-", use, "" if optional[package] else f'pip install "dalembert[{extra}]"')
        for package, (_, use, extra) in OPTIONAL.items()
    ]
    terminal.show_table("Optional packages", ("package", "version", "for", "to get it"), rows, left=(0, 1, 2, 3))


def _version(package: str, module: str) -> str | None:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    if importlib.util.find_spec(module) is None:
        return None
    try:
        return installed(package)
    except PackageNotFoundError:
        return "?"


def version(as_json: Json = False) -> None:
    """Print the version. JSON: {"version"}."""
    from dalembert import __version__

    if as_json:
        terminal.give({"version": __version__})
    else:
        terminal.show(__version__)
