"""The recursive modular method: models from leaves to root, in variables of any order (Orsino 2016)."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.symbolic.modular.labelled import LabelledMatrix as LabelledMatrix
    from dalembert.symbolic.modular.model import ModularModel as ModularModel
    from dalembert.symbolic.modular.model import modular_model as modular_model
    from dalembert.symbolic.modular.parts import TIME as TIME
    from dalembert.symbolic.modular.parts import Assembly as Assembly
    from dalembert.symbolic.modular.parts import Leaf as Leaf

__all__ = attach(__name__)
