"""The columnar engine: the operator over Polars frames. It knows no runtime and reads no clock."""

from panewise.engine.operator import Operator
from panewise.engine.outputs import Counts, Output

__all__ = ["Counts", "Operator", "Output"]
