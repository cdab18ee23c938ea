"""Record: time and named channels with units, for a simulated run and for a measurement alike."""

from dalembert.core.arrays import FloatArray as Array
from dalembert.record.record import Record
from dalembert.record.sampling import Gap, Gaps, GapWarning

__all__ = ["Array", "Gap", "GapWarning", "Gaps", "Record"]
