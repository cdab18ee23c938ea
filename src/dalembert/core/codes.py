"""Codes of errors, warnings and findings, with their meaning: the same problem has the same code everywhere.

Programs and tests compare codes; the words around them may change. A kind of problem that no line covers gets a line of
its own: what is wrong, not where it was found (where it was found stands in ``where``).
"""

from __future__ import annotations

CODES: dict[str, str] = {
    # names
    "unknown-name": "no body, joint, channel, parameter, ... has this name",
    "unknown-choice": "an option has a value that is none of its choices",
    "unknown-argument": "an argument, key or option that does not exist",
    "taken-name": "two things would have the same name",
    "bad-name": "a name is empty, not a text, or holds characters that it must not",
    "wrong-owner": "a body, joint or state belongs to another machine or model",
    # arguments
    "missing-argument": "something that is needed was not given",
    "conflicting-arguments": "two arguments exclude each other, or contradict each other",
    "ineffective-argument": "an argument that changes nothing here",
    "wrong-type": "a value of a type that cannot be used here",
    "wrong-shape": "an array with the wrong number of rows, columns, dimensions or entries",
    "not-a-number": "a text, None or object where a number is needed",
    "not-finite": "a value that is NaN or infinite",
    "not-positive": "a value that must be above zero",
    "negative": "a value that must not be below zero",
    "zero": "a value that must not be zero",
    "zero-length": "a direction, an axis or a quaternion whose components are all zero",
    "parallel": "two directions along the same line, where a plane or a frame is made of them",
    "not-perpendicular": "two directions that must be square to each other",
    "not-a-count": "a value that must be a whole number",
    "out-of-range": "a value beyond its limits",
    "empty": "no element, where at least one is needed",
    "unit-mismatch": "units that cannot be converted into each other, or a unit that is not known",
    "not-increasing": "times or frequencies that do not increase",
    "duplicate": "the same thing given twice",
    # matrices
    "not-symmetric": "a matrix that must be symmetric",
    "not-orthonormal": "a matrix that must be a rotation",
    "not-positive-definite": "a matrix that must be positive (semi)definite",
    "singular-matrix": "a matrix without an inverse",
    "rank-deficient": "fewer independent rows or columns than needed",
    # limits of use
    "not-supported": "a combination that this function does not cover",
    "needs-damping": "a result that exists only with damping",
    "too-large": "a size or a count beyond the bounds that protect memory and time",
    "missing-extra": "an optional package is not installed",
    "kind-not-loaded": "an entry point of another package that cannot be imported",
    # iterations and runs
    "no-convergence": "an iteration ended without reaching its tolerance",
    "no-solution": "the equations have no solution",
    "not-unique": "the equations have several solutions",
    "diverged": "values grew beyond every bound",
    "singular-law": "a control law at a pose where it has no solution",
    "interrupted": "stopped from the keyboard or by a signal",
    "timeout": "the time allowed is over",
    "joint-open": "a joint that is not closed",
    "friction-unsettled": "friction and reactions that do not settle on common values",
    "step-too-small": "a time step that fell to the rounding of the time",
    "stiff-friction": "regularised friction that makes many short steps",
    "too-many-steps": "the number of steps allowed is used up",
    # identification
    "biased-estimate": "a choice of arguments that biases the result",
    "lost-input": "an input that acts while the samples serve as past only",
    "no-free-decay": "a record that does not decay, where free motion is needed",
    "no-effect": "a parameter on which nothing depends",
    "order-too-high": "more states than the data, the rows or the outputs can hold",
    "poor-fit": "a model that explains next to nothing of its data",
    "sample-time-mismatch": "data and model with different sample times",
    "too-few-samples": "fewer samples than a method or a model needs",
    "unclear-order": "singular values without a clear gap: the order is a guess",
    "undetermined-parameters": "parameters, or combinations of them, that the data do not determine",
    "unstable-model": "an identified model whose free motion grows",
    # files
    "no-such-file": "a file or folder that does not exist",
    "not-readable": "a file that cannot be opened or decoded",
    "not-writable": "a file that cannot be written",
    "bad-syntax": "a text that its format does not allow",
    "bad-version": "a file of a version that is not known",
    "damaged": "a file that is cut off or contradicts itself",
}
