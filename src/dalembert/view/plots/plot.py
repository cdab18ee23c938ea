"""Common entry to all figures: ``plot(result)`` draws a result of any kind that has a figure."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dalembert.core.errors import DataError, require_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Class -> module of this folder and function. Classes by name, and drawing modules loaded on use: to draw a record
# loads neither linear algebra nor finite elements, and to import this loads no Matplotlib.
_DRAWN: dict[str, tuple[str, str]] = {
    "record.record.Record": ("records", "plot_record"),
    "linear.responses.frequency_response.FrequencyResponse": ("linear.frequency", "plot_frequency_response"),
    "linear.families.track_eigenvalues.EigenvalueBranches": ("linear.eigenvalue_branches", "plot_branches"),
    "linear.eigen.roots.Roots": ("linear.pole_map", "plot_roots"),
    "linear.state_space.StateSpace": ("linear.loops", "plot_state_space"),
    "linear.second_order.SecondOrder": ("linear.pole_map", "plot_second_order"),
    "linear.eigen.stability.Stability": ("linear.pole_map", "plot_stability"),
    "linear.modes.Modes": ("structures.modes", "plot_modes"),
    "linear.transforms.balanced_truncation.BalancedTruncation": ("linear.comparisons", "plot_truncation"),
    "structures.continuous.continuous_modes.ContinuousModes": ("structures.modes", "plot_continuous_modes"),
    "structures.reduction.fidelity.Fidelity": ("linear.comparisons", "plot_fidelity"),
    "structures.assembly.structure.Structure": ("structures.structures", "plot_structure"),
    "structures.frame.frame.Frame": ("structures.structures", "plot_description"),
    "structures.solid.solid.Solid": ("structures.structures", "plot_description"),
    "model.flexible.FlexibleBodyData": ("structures.flexible_bodies", "plot_flexible_body"),
    "structures.analysis.buckling.Buckling": ("structures.structures", "plot_buckling"),
    "structures.analysis.statics.StaticSolution": ("structures.statics", "plot_static"),
    "identify.subspace.stabilization.Stabilization": ("identification", "plot_stabilization"),
    "identify.spectral.frf.FrfEstimate": ("identification", "plot_frf_estimate"),
    "identify.polyreference.result.PolyreferenceModes": ("identification", "plot_polyreference"),
    "identify.model.quality.Residuals": ("identification", "plot_residuals"),
    "identify.auto.result.AutoIdentified": ("identification", "plot_auto"),
    "estimate.engine.estimate.Estimate": ("estimates", "plot_estimate"),
    "estimate.forces.two_stage.TwoStageEstimate": ("estimates", "plot_two_stages"),
    "estimate.engine.metrics.Comparison": ("judgements", "plot_comparison"),
    "estimate.engine.consistency.Consistency": ("judgements", "plot_consistency"),
    "estimate.judge.local_observability.LocalObservability": ("judgements", "plot_observability"),
    "identify.spectral.spectra.Spectra": ("spectrum", "plot_spectra"),
    "identify.records.survey.Survey": ("spectrum", "plot_survey"),
    "identify.output_only.frequency_domain_modes.FrequencyDomainModes": ("spectrum", "plot_singular_values"),
    "identify.setups.merged_modes.MergedModes": ("spectrum", "plot_merged_modes"),
    "control.judge.margins.Margins": ("linear.loops", "plot_margins"),
    "control.state_feedback.state_feedback.StateFeedback": ("linear.loops", "plot_design"),
    "control.state_feedback.output_feedback.OutputFeedback": ("linear.loops", "plot_design"),
    "control.robust.synthesis.Synthesis": ("linear.synthesis", "plot_synthesis"),
    "control.robust.dk.RobustSynthesis": ("linear.robustness", "plot_robust_synthesis"),
    "control.structured.structured.ScheduledSynthesis": ("linear.robustness", "plot_scheduled"),
    "control.two_time_scale.composite.CompositeLaw": ("linear.robustness", "plot_composite"),
    "control.uncertainty.cover.FamilyCover": ("linear.robustness", "plot_cover"),
    "control.uncertainty.mu.StructuredGain": ("linear.robustness", "plot_mu"),
    "linear.uncertain.Uncertain": ("linear.families", "plot_uncertain"),
    "sweeps.swept.Swept": ("sweeps", "plot_swept"),
    "tree.reach.workspace.Workspace": ("sweeps", "plot_workspace"),
    "symbolic.modular.algebra.labelled.LabelledMatrix": ("linear.comparisons", "plot_labelled"),
}


def plot(
    result: object,
    *what: Any,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    theme: str | None = None,
    **options: Any,
) -> Figure:
    """Draw a result; the arguments after it depend on its kind.

    Parameters
    ----------
    result : result to draw, with its own arguments
        Record : ``*names, view="time" | "phase" | "spectrum" | "control"``. Channels over time, one axes per unit
        (``against=`` another channel); coordinates against their rates; power spectral densities (``highest=, axis=,
        segment=``); without and with control (``switched_on=`` a time, or the record with control after the one
        without; ``settle=``), with the reduction in numbers.
        FrequencyResponse : ``*pairs, magnitude="log" | "dB" | "linear", frequency="Hz" | "rad/s",
        axis="log" | "linear", phase=True, peaks=True``. Pairs are outputs or ``(output, input)``.
        EigenvalueBranches : ``view="campbell" | "locus", frequency="Hz" | "rad/s"``. Frequencies and growth over the
        parameter, or eigenvalues in the complex plane.
        Roots, StateSpace, SecondOrder, Stability : poles (x) and zeros (o) in the complex plane. A StateSpace with
        ``view="loop"``: Bode and Nyquist diagrams with margins (``channel=, frequency="Hz" | "rad/s"``).
        StateFeedback, OutputFeedback : ``view="loop" | "poles", channel=None, frequency="Hz"``.
        Synthesis : ``view="gain" | "poles" | "impulse" | "bode" | "nyquist" | "loop", models=None, region=None,
        until=None, frequency="Hz"``. Of the plant, or of a family of models; a region of poles in their map.
        RobustSynthesis : ``view="mu"``, or a view of a Synthesis.  ScheduledSynthesis : ``view="poles" | "gains",
        region=None``.  CompositeLaw : ``region=None, within=None``, poles in all poses of the workspace.
        Uncertain : ``output, input, view="bode" | "nyquist" | "poles", samples=30, seed=0, region=None``.
        FamilyCover, StructuredGain : ``frequency="Hz"``.
        Margins : no more arguments.
        Swept : ``*names, view="scatter" | "histogram"``. Results of a sweep over its axes, and their spread.
        Spectra : ``*names, highest=None, axis="log" | "linear"``.
        FrequencyDomainModes : ``highest=None`` [Hz]. Singular values with modes, bells and harmonics of machines.
        MergedModes : no more arguments. Mode shapes at the sensors of all set-ups.
        Modes : ``view="shapes" | "mac" | "poles", mode=..., against=other modes``.
        Structure, Frame, Solid : ``modes, mode=1 | [1, 2, 3], scale=None, names=None``. Geometry, or mode shapes.
        FlexibleBodyData : ``mode=1 | [1, 2, 3], scale=None``. Mode shapes.
        StaticSolution : ``view="shape" | "moment" | "shear" | "axial" | "von_mises" | ..., scale=None``.
        Buckling : ``mode=..., scale=None``.  BeamModes, LineModes : ``mode=...``.
        Fidelity, BalancedTruncation, Residuals : no more arguments.
        Stabilization : ``modes=None, grades=(), lowest=0, highest=None`` [Hz].
        FrfEstimate : ``model=None, lowest=0, highest=None, axis="linear" | "log"``.
        Estimate : ``*names, view="estimate" | "error" | "innovations", truth=None``. Three deviations are shaded.
        TwoStageEstimate : ``*names, truth=None``.  Comparison : ``*names``.
        Consistency, LocalObservability, Workspace : no more arguments.
        LabelledMatrix (of `da.symbolic.modular`) : no more arguments. Entries by colour, labels beside them.
        AutoIdentified : ``view="stabilization" | "frf" | "spectra" | "playback" | "residuals" |
        "shapes"``.
    path : file to which the figure is written too; its suffix determines the format (png, svg, pdf).
    title : above the figure; by default a description of the result.
    theme : "light" (unless :func:`figure_style` sets another), "dark" for dark screens, or "print" for paper, where
        lines differ by their dashes too.

    Returns
    -------
    matplotlib.figure.Figure
        Shows itself in a notebook; made without ``pyplot``, so nothing else keeps it.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> figure = plot(SecondOrder(1.0, 4.0).modes())
    >>> figure.axes[0].get_title(loc="left")
    'mode 1: 0.3183 Hz'
    """
    function = find_function(result, _DRAWN, "dalembert.view.plots")
    if function is None:
        kinds = ", ".join(sorted(name.rpartition(".")[2] for name in _DRAWN if not name.startswith("record")))
        raise DataError("wrong-type", f"plot takes a Record, not a {type(result).__name__}. It also takes {kinds}.")
    kind, draw = function
    _check(draw, kind, what, options)
    from dalembert.view.plots.figures import draw_figure

    return draw_figure(lambda: draw(result, *what, title=title, **options), path, theme)


def find_function(
    result: object, table: Mapping[str, tuple[str, str]], package: str
) -> tuple[str, Callable[..., Any]] | None:
    """The function for a result by its class or a base of it: the name of this class, and the function, loaded now."""
    for kind in type(result).__mro__:
        function = table.get(f"{kind.__module__}.{kind.__qualname__}".removeprefix("dalembert."))
        if function:
            return kind.__name__, getattr(importlib.import_module(f"{package}.{function[0]}"), function[1])
    return None


def _check(draw: Callable[..., Figure], kind: str, what: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Refuse arguments that this kind of picture does not have, by name."""
    parameters = list(inspect.signature(draw).parameters.values())[1:]
    named = [
        parameter.name
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY or parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    for option in options:
        require_name("option", option, [*named, "path"], f"the plot of a {kind}")
    many = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    places = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    if not many and len(what) > len(places):
        after = f"only {' and '.join(places)} after it" if places else "nothing after it but options by name"
        raise DataError(
            "unknown-argument",
            f"the plot of a {kind} takes {after} ({', '.join(named)}), got {what[len(places)]!r:.80}.",
        )
