"""Universal files of geometry and shapes."""

from __future__ import annotations

TEXTS = "NONE\n" * 5


# as pyuff writes it: 6 values per node, rotations not measured
ROTATIONS = f"""\
    -1
    55
{TEXTS}         1         2         3         8         2         6
         2         4         0         0
   9.7013e+01   2.5000e+00   1.2000e-02   0.0000e+00
         1
   5.3569e-02   2.0271e-02   4.6623e-03   0.0000e+00   0.0000e+00   0.0000e+00
        12
  -1.0000e+00  -2.8741e-02   0.0000e+00   0.0000e+00   0.0000e+00   0.0000e+00
    -1
"""
