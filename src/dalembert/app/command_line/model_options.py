"""The model a command works on and the options that change it; names for the shell's completion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.app.command_line.option_values import TIME
from dalembert.core.errors import ModelError, require_name

LIBRARY = Path(__file__).parents[2] / "library"


def ready() -> dict[str, Path]:
    """Files of the library by name, without loading the reader, because the shell waits for the names."""
    from dalembert.files.models.format import model_suffixes

    return {path.stem: path for path in sorted(LIBRARY.iterdir()) if path.suffix in model_suffixes()}


def ready_file(name: str) -> Path:
    require_name("library model", name, ready(), error=ModelError)
    return ready()[name]


def complete_model(incomplete: str) -> list[str]:
    """Library models and model files, for the shell's completion."""
    from dalembert.files.models.format import model_suffixes

    return complete(incomplete, model_suffixes())


def complete(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    """Library models, files with these suffixes and folders that begin with the typed text."""
    folder = Path(incomplete.rpartition("/")[0] or ("/" if incomplete.startswith("/") else "."))
    inside = sorted(folder.glob("*")) if folder.is_dir() else []
    files = [str(path) for path in inside if path.suffix in suffixes]
    folders = [f"{path}/" for path in inside if path.is_dir()]
    return [name for name in (*ready(), *files, *folders) if name.startswith(incomplete)]


Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A file (TOML, JSON, URDF, MJCF), or a machine of `dalembert library`.",
        autocompletion=complete_model,
    ),
]
Repeated = list[str] | None


def repeatable(option: str, meaning: str, metavar: str = "NAME=VALUE") -> Any:
    """An option that can be given several times."""
    return typer.Option(option, metavar=metavar, help=f"{meaning}; repeatable.")


Set = Annotated[Repeated, repeatable("--set", 'Another value of a parameter, such as length="20 mm"')]
Start = Annotated[
    Repeated,
    repeatable(
        "--start", 'Initial value of a coordinate or rate, such as A.angle="90 deg", or a keyframe of the file: home'
    ),
]
Near = Annotated[
    Repeated,
    repeatable(
        "--guess", "Approximate value of a coordinate: decides which way loops of a machine close (elbow up or down)"
    ),
]
Input = Annotated[
    Repeated, repeatable("--input", "Drive of an input: a number, an expression of t, or FILE:CHANNEL of a record")
]
Until = Annotated[float | None, typer.Option(**TIME, help="End time (s); the model's own, else 10.")]
