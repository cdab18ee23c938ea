"""CasADi expressions and their native evaluation.

No other room uses buffers, instructions or machine code. A `Kernel` is one function with NumPy arrays as arguments and
results; a `Quantity` is a number that may stay symbolic in a model.

    kernels         interpreted first, native once this saves time; loops, batches in lanes and on all cores
    machine_code/   CasADi functions as programs, programs as LLVM code, LLVM code as machine code in this process
    source_text     scalar code as readable Python or C
"""

from dalembert.core.arrays import FloatArray as Array
from dalembert.expressions import quantities
from dalembert.expressions.calling import call_user, of_time, one_value, raise_signals
from dalembert.expressions.installation import doctor, engine
from dalembert.expressions.kernels import (
    FLAT_LIMIT,
    Expr,
    Kernel,
    LaneLoop,
    cores,
    run_together,
    spread_over_cores,
    start_task,
)
from dalembert.expressions.quantities import *  # noqa: F403
from dalembert.expressions.quantities import Quantity
from dalembert.expressions.work import count_work

__all__ = [
    "Array", "Expr", "FLAT_LIMIT", "Kernel", "LaneLoop", "Quantity", "call_user", "cores", "count_work", "doctor",
    "engine", "of_time", "one_value", "raise_signals", "run_together", "spread_over_cores", "start_task",
]  # fmt: skip
__all__ += quantities.__all__
