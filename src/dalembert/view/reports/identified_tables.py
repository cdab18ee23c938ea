"""Tables on an identified model: its kind and size, its modes."""

from __future__ import annotations

from dalembert.core.tables import spread
from dalembert.identify.model.collinearity import modal_phase_collinearity
from dalembert.identify.model.identified import Identified
from dalembert.view.plots.figures import with_unit
from dalembert.view.reports.machine_tables import list_names
from dalembert.view.reports.pages import Table


def identified_summary(model: Identified, caption: str = "The identified model") -> Table:
    """Order, channels, sample time and frequencies."""
    units = model.system.units

    def channels(names: tuple[str, ...]) -> str:
        return list_names(with_unit(name, units.get(name, "")) for name in names)

    hertz = model.frequencies_hz
    noise = "gain of the innovation form" if model.gain is not None else "none"
    rows = [
        ("method", "", model.method),
        ("states", str(model.order), ""),
        ("sample time [s]", f"{model.dt:.6g}", ""),
        ("inputs", str(len(model.inputs)), channels(model.inputs) or "none: ambient vibration"),
        ("outputs", str(len(model.outputs)), channels(model.outputs)),
        ("modes that oscillate", str(len(hertz)), list_names(f"{f:.4g}" for f in hertz) + " Hz" * bool(len(hertz))),
        ("model of the noise", "", noise),
    ]
    if model.delays:
        delays = list_names(f"{name} by {count} samples" for name, count in model.delays.items())
        rows.append(("delays", str(len(model.delays)), delays))
    return Table(("", "number", "which"), tuple(rows), caption)


def modes_table(model: Identified) -> Table:
    """Frequencies and damping ratios with standard deviations, and how nearly real each shape is."""
    modes = model.underdamped_modes()
    mpc = modal_phase_collinearity(modes.shapes)
    sd_f, sd_z = model.frequency_deviations, model.damping_deviations
    rows = []
    for k in range(len(modes)):
        frequency, damping = f"{modes.frequencies_hz[k]:.5g}", f"{100.0 * modes.damping_ratios[k]:.4g}"
        if sd_f is not None and sd_z is not None:
            frequency = spread(modes.frequencies_hz[k], sd_f[k])
            damping = spread(100.0 * modes.damping_ratios[k], 100.0 * sd_z[k])
        rows.append((str(k + 1), frequency, damping, f"{mpc[k]:.3f}"))
    about = "Modes" + (" (± one standard deviation)" if sd_f is not None else "")
    return Table(("mode", "frequency [Hz]", "damping ratio [%]", "phase collinearity"), tuple(rows), about)
