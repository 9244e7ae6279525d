"""The columnar engine: the operator over Polars frames. It knows no runtime and reads no clock."""

from panewise.engine.chain import ChainOperator, operator_for
from panewise.engine.operator import Operator
from panewise.engine.outputs import Counts, Output

__all__ = ["ChainOperator", "Counts", "Operator", "Output", "operator_for"]
