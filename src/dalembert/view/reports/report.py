"""Common entry to reports: ``report(result, path)`` writes a page on a result of any kind that has one."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

from dalembert.core.errors import DataError, FileFormatError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.view.plots.plot import find_function

# Class -> module of this folder and function; loaded on use, as pictures are.
_WRITERS: dict[str, tuple[str, str]] = {
    "record.record.Record": ("record_report", "record_report"),
    "estimate.engine.estimate.Estimate": ("estimate_report", "estimate_report"),
    "estimate.forces.two_stage.TwoStageEstimate": ("estimate_report", "estimate_report"),
    "model.flexible.FlexibleBodyData": ("flexible_report", "flexible_report"),
    "control.robust.synthesis.Synthesis": ("synthesis_report", "synthesis_report"),
    "control.robust.dk.RobustSynthesis": ("synthesis_report", "robust_report"),
    "control.structured.structured.ScheduledSynthesis": ("synthesis_report", "scheduled_report"),
    "symbolic.derivation.Derivation": ("equations_page", "equations_report"),
    "identify.auto.result.AutoIdentified": ("identification.identification_report", "identification_report"),
    "identify.model.identified.Identified": ("identification.identification_report", "identified_report"),
    "identify.polyreference.result.PolyreferenceModes": (
        "identification.identification_report",
        "polyreference_report",
    ),
    "identify.output_only.frequency_domain_modes.FrequencyDomainModes": (
        "identification.output_only_report",
        "output_only_report",
    ),
    "identify.setups.merged_modes.MergedModes": ("identification.output_only_report", "output_only_report"),
}


def report(result: object, path: str | os.PathLike[str], *, title: str | None = None, **options: Any) -> None:
    """Write a self-contained HTML page on a result: findings in plain words, figures, tables, provenance.

    Parameters
    ----------
    result : result to describe, with its own options
        Record, simulated or measured : ``names=(), mechanism=None, equations=None, provenance=None``. Motion, extremes,
        events, gaps, energy balance; the moving picture where the record has a scene. ``mechanism`` and ``equations``
        (both) add the machine in full and its hash.
        Estimate, TwoStageEstimate : ``truth=None, settle=0.0, provenance=None``. Consistency, deviations, innovations,
        errors where the truth is given.
        Result of ``identify.auto`` : ``places=None, provenance=None``. Modes with standard deviations, decisions
        and doubts in words, cross-validation, stabilization diagram, mode shapes, measured and modelled frequency
        responses, residuals. With ``places={"a1": (0, 0, 0.2, "x"), "ground": (0, 0, 0)}`` the shapes move.
        Identified : ``records, places=None, provenance=None``. Modes, playback of the records, poles.
        PolyreferenceModes : ``places=None, provenance=None``. Modes, measured and fitted responses, diagram.
        FrequencyDomainModes, MergedModes : ``places=None, provenance=None``. Modes, shapes, singular values, harmonics
        of machines, agreement of set-ups.
        FlexibleBodyData : ``provenance=None``. Mode shapes, modes, inertia, nodes, checks.
        Synthesis, RobustSynthesis (of ``da.control``) : ``models=None, region=None, provenance=None``. Norms, goals,
        poles, loop; of D-K iteration also its steps and the structured singular value.
        ScheduledSynthesis : ``region=None, provenance=None``. Goals, poles, gains over the coordinate.
        Derivation (of ``da.symbolic``) : no more arguments. Symbols, every step with its formulas, equations of motion.
    path : the file, ending in .html; it appears whole or not at all
    title : above the page
    """
    writer = find_function(result, _WRITERS, "dalembert.view.reports")
    if writer is None:
        listing = (
            "a Record, an Estimate, an Identified, a Derivation, data of a flexible body, or what identify.auto returns"
        )
        raise DataError("wrong-type", f"report takes {listing}, not a {type(result).__name__}.")
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FileFormatError("bad-name", "a report is an HTML page; give a name ending in .html.", path=str(path))
    kind, write = writer
    declared = {
        parameter.name: parameter
        for parameter in inspect.signature(write).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    for option in options:
        require_name("option", option, declared, f"the report on a {kind}")
    for option, parameter in declared.items():
        if parameter.default is parameter.empty and option not in options:
            problem = f"the report on a {kind} lacks an argument."
            raise DataError("missing-argument", problem, Advice("Give {}.", Argument(option)))
    write(result, path, **options, **({} if title is None else {"title": title}))
