"""Bars of a frame: stiff along their axis only, free to turn at both ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dalembert.structures.assembly.materials import Material
from dalembert.structures.assembly.sections import Section
from dalembert.structures.frame import arguments
from dalembert.structures.frame.element import FRAME_ELEMENTS, FrameElement
from dalembert.structures.frame.elements.beam import BeamProperties, Beams, add_members


@dataclass
class Bars(Beams):
    """Bars with the same properties; assembled together with the beams."""

    kind: ClassVar[str] = "bar"
    bends: ClassVar[bool] = False
    rotates: ClassVar[bool] = False

    @property
    def rotated(self) -> Iterable[str]:
        return ()


class BarMethods:
    """The part of a `Frame` that takes bars."""

    elements: list[FrameElement]

    def add_bar(self, name: str, start: str, end: str, **properties: Any) -> None:
        """A bar: stiff along its axis only, free to turn at both ends.

        Keywords ``section`` (of which the area counts), ``material``, ``mass`` ("consistent" or "lumped") and
        ``loss_factor``.
        """
        self.add_bars([name], [start], [end], **properties)

    def add_bars(
        self,
        names: str | Iterable[str],
        starts: Sequence[str],
        ends: Sequence[str],
        *,
        section: Section | str,
        material: Material | str,
        mass: str = "consistent",
        loss_factor: float | None = None,
    ) -> None:
        """Many bars with the same properties; see :meth:`add_bar`."""
        what = f"bar {arguments.first_name(names)}"
        properties = BeamProperties(
            section, material, lumped=arguments.is_lumped(mass, what), loss_factor=arguments.loss_of(loss_factor, what)
        )
        add_members(self.elements, Bars, properties, names, starts, ends)


FRAME_ELEMENTS.register("bar", Bars)
