"""Sizes above which a model file is refused.

A file may come from an unknown source: its cost is bounded before it is read. Every limit is far above what the
machines of the library need, and so low that a refusal takes less than two seconds, which the tests of malformed files
measure.
"""

from __future__ import annotations

# The text, its expressions, its parts, the files it includes, and the messages about it.
FILE_BYTES = 5 * 1024**2
LINES = 300_000
NESTING = 24  # tables and lists inside each other
VALUES = 250_000
TEXT = 100_000  # characters of one text
NAME = 1_000  # characters of a name
LIST = 1_000  # numbers of one list, or pairs of a table: a measured curve has some hundred
NUMBER = 400  # characters of one number; the largest has 309 digits
EXPRESSION = 20_000  # characters
DEPTH = 120  # of brackets, operations and named expressions inside each other; Python recurses for each
SIZE = 5_000  # operations of an expression, with the named expressions written out
OPERATIONS = 200_000  # of all expressions of a model
BODIES = 10_000
PARTS = 50_000  # joints, forces, sensors: of each
COUPLERS = 2_000  # and drivers, constraints, variables: each is compared with all bodies
SYMBOLIC_PARTS = 8  # of a composite with parameters: its inertia grows with the square of them
INCLUDE_DEPTH = 8
INCLUDES = 64
MESH_BYTES = 200 * 1024**2
BODY_BYTES = 500 * 1024**2  # of a data file of a flexible body, unpacked
PROBLEMS = 200  # the search for problems ends at this number
PROBLEMS_SHOWN = 50  # in one message
NAMES_COMPARED = 300  # with a misspelt one
NAMES_CHECKED = 100  # wrong names beyond which the full check, which is slow for each, is left out
