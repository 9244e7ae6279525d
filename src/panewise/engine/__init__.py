"""The columnar engine: the operator over Polars frames. It knows no runtime and reads no clock."""

from panewise.engine.chain import ChainOperator, operator_for
from panewise.engine.operator import Operator
from panewise.engine.outputs import Counts, Output
from panewise.engine.policy_operator import PolicyOperator

__all__ = ["ChainOperator", "Counts", "Operator", "Output", "PolicyOperator", "operator_for"]
