"""All families of operators: which operator belongs to which specification."""

from collections.abc import Mapping
from typing import TypeAlias

import polars as pl

from panewise.engine.chain.operator import ChainOperator
from panewise.engine.over.operator import OverOperator
from panewise.engine.policy.operator import PolicyOperator
from panewise.engine.windows.operator import Operator
from panewise.spec import Chain, FrameOperator, Specification, StreamWindow

AnyOperator: TypeAlias = Operator | OverOperator


def operator_for(spec: Specification, schema: Mapping[str, pl.DataType]) -> AnyOperator:
    """Returns a new operator for a specification of any kind."""
    if isinstance(spec, FrameOperator):
        return OverOperator(spec, schema)
    if isinstance(spec, StreamWindow):
        return PolicyOperator(spec, schema)
    return ChainOperator(spec, schema) if isinstance(spec, Chain) else Operator(spec, schema)
