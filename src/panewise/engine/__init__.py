"""The columnar engine: the operator over Polars frames. It knows no runtime and reads no clock."""

from panewise.engine.chain import AnyOperator, ChainOperator, operator_for
from panewise.engine.operator import Operator
from panewise.engine.outputs import Counts, Output
from panewise.engine.over import OverOperator
from panewise.engine.policy_operator import PolicyOperator

__all__ = ["AnyOperator", "ChainOperator", "Counts", "Operator", "Output", "OverOperator", "PolicyOperator", "operator_for"]
