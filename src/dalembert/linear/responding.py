"""Channels and responses common to second-order and state-space systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike

from dalembert.core.arrays import frozen

if TYPE_CHECKING:
    from dalembert.core.progress import Setting
    from dalembert.linear.responses.frequency_response import FrequencyResponse
    from dalembert.record import Record


@frozen(init=False)
class Responding:
    """A system with named inputs and outputs; the mathematics is in `harmonic` and `time_response`."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    @property
    def ny(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def frequency_response(
        self,
        frequencies: ArrayLike,
        *,
        kind: str | None = None,
        inputs: str | Iterable[str] | None = None,
        outputs: str | Iterable[str] | None = None,
        progress: Setting = None,
    ) -> FrequencyResponse:
        """Complex amplitudes per unit input at frequencies [rad/s]; see :func:`dalembert.linear.frequency_response`."""
        from dalembert.linear.responses.harmonic import frequency_response

        this: Any = self
        return frequency_response(this, frequencies, kind=kind, inputs=inputs, outputs=outputs, progress=progress)

    def response(self, inputs: Record | Mapping[str, Any] | None = None, **options: Any) -> Record:
        """Response to sampled inputs; see :func:`dalembert.linear.response`."""
        from dalembert.linear.responses.time_response import response

        return response(cast(Any, self), inputs, **options)

    def free_response(self, start: Mapping[str, float] | ArrayLike, times: ArrayLike, **options: Any) -> Record:
        """Motion from an initial state; see :func:`dalembert.linear.free_response`."""
        from dalembert.linear.responses.time_response import free_response

        return free_response(cast(Any, self), start, times, **options)

    def step_response(self, times: ArrayLike, **options: Any) -> Record:
        """Response to an input switched on; see :func:`dalembert.linear.step_response`."""
        from dalembert.linear.responses.time_response import step_response

        return step_response(cast(Any, self), times, **options)

    def impulse_response(self, times: ArrayLike, **options: Any) -> Record:
        """Response to an impulse at t = 0; see :func:`dalembert.linear.impulse_response`."""
        from dalembert.linear.responses.time_response import impulse_response

        return impulse_response(cast(Any, self), times, **options)
