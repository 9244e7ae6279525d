"""The result class of each kind of specification, in one table."""

from collections.abc import Mapping
from typing import Final

from panewise.spark.results.family import FamilyResult
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.results.over import OverResult
from panewise.spark.results.sides import CogroupResult, JoinResult, WindowedJoinResult
from panewise.spark.results.single_input import DeduplicateResult, PolicyResult, WindowResult
from panewise.spec import (
    Chain,
    CogroupOperator,
    DeduplicateOperator,
    JoinOperator,
    OverOperator,
    Specification,
    StreamWindow,
    WindowedJoin,
    WindowOperator,
)

RESULTS: Final[Mapping[type[Specification], type[OperatorResult]]] = {
    WindowOperator: WindowResult,
    Chain: WindowResult,
    OverOperator: OverResult,
    DeduplicateOperator: DeduplicateResult,
    StreamWindow: PolicyResult,
    JoinOperator: JoinResult,
    WindowedJoin: WindowedJoinResult,
    CogroupOperator: CogroupResult,
}


def result_class(spec: Specification) -> type[OperatorResult]:
    """Returns the class of the outputs of a specification, FamilyResult if it is not in the table."""
    return RESULTS.get(type(spec), FamilyResult)
