"""``doctor``: engine and packages of this installation."""

from __future__ import annotations

import importlib.util
from typing import Any

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.registry import command

# package -> (module, purpose, extra that installs it)
OPTIONAL = {
    "h5netcdf": ("h5netcdf", "records as netCDF", "netcdf"),
    "pyarrow": ("pyarrow", "records as Parquet", "parquet"),
    "pandas": ("pandas", "records as tables", "data"),
    "xarray": ("xarray", "sweeps and records as datasets", "data"),
    "openpyxl": ("openpyxl", "records from worksheets", "lab"),
    "nptdms": ("nptdms", "records of LabVIEW (.tdms)", "lab"),
    "h5py": ("h5py", "records of MATLAB 7.3", "lab"),
    "clarabel": ("clarabel", "matrix inequalities of robust control", "robust"),
    "sympy": ("sympy", "checks of symbolic equations", "symbolic"),
    "scikit-fem": ("skfem", "solid bodies", "solids"),
    "meshlane": ("meshlane", "meshes from files", "solids"),
    "control": ("control", "exchange with python-control", "control"),
}


@command("This installation", position=1)
def doctor(as_json: Json = False) -> None:
    """Show the parts of this installation: engine, pictures, optional packages, kinds that other packages add.

    JSON: {"versions": {...}, "engine", "animation", "browser", "optional": {package: version or null}, "kinds": [...]}.
    """
    from dalembert import expressions
    from dalembert.kinds import list_added
    from dalembert.view.reports.origin import versions

    optional = {package: _version(package, module) for package, (module, _, _) in OPTIONAL.items()}
    animation, browser, kinds = _animation(), _browser(), list_added()
    if as_json:
        report_: dict[str, Any] = {"versions": versions(), "engine": expressions.engine()}
        terminal.give(
            {
                **report_,
                "animation": animation,
                "browser": browser,
                "optional": optional,
                "kinds": [kind._asdict() for kind in kinds],
            }
        )
        return
    terminal.show(expressions.doctor())
    terminal.show(f"animations: {animation}")
    terminal.show(
        f"browser: {browser or 'none; open pages elsewhere, `dalembert view MODEL --no-browser` prints the address'}"
    )
    rows = [
        (package, optional[package] or "-", use, "" if optional[package] else f'pip install "dalembert[{extra}]"')
        for package, (_, use, extra) in OPTIONAL.items()
    ]
    terminal.show_table("Optional packages", ("package", "version", "for", "to get it"), rows, left=(0, 1, 2, 3))
    if kinds:
        added = [
            (kind.group, kind.name or "none: the module declares no kind", kind.package, kind.version) for kind in kinds
        ]
        head = ("entry points", "kind", "package", "version")
        terminal.show_table("Kinds of other packages", head, added, left=(0, 1, 2, 3))


def _animation() -> str:
    """Whether the page of animations exists and is built from the present sources."""
    from dalembert.view.animation import page_build

    if page_build.is_current():
        return "ready"
    if page_build.PAGE.is_file():
        return "an older page; run `make page`"
    return "none; run `make page`" if page_build.in_checkout() else "none; install dalembert again"


def _browser() -> str | None:
    """Program that would open a page; None where there is none."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return None
    return str(getattr(browser, "name", None) or type(browser).__name__)


def _version(package: str, module: str) -> str | None:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    if importlib.util.find_spec(module) is None:
        return None
    try:
        return installed(package)
    except PackageNotFoundError:
        return "?"
