"""The result class of each family, in one table. Families of other packages have `FamilyResult`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pyspark.sql import DataFrame

from panewise.errors import SpecError
from panewise.families import (
    CHAIN,
    COGROUP,
    DEDUPLICATE,
    INPUT,
    JOIN,
    OVER,
    POLICY,
    WINDOWED_JOIN,
    WINDOWS,
    Family,
)
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.results.over import OverResult
from panewise.spark.results.sides import CogroupResult, JoinResult, WindowedJoinResult
from panewise.spark.results.single_input import DeduplicateResult, PolicyResult, WindowResult
from panewise.spark.shuffle.envelope import labelled
from panewise.spec import Specification


@dataclass(frozen=True, repr=False)
class FamilyResult(OperatorResult):
    """The outputs of an operator of another package's family, which may have several inputs."""

    def output(self, kind: Literal["panes", "late", "invalid", "counts"], port: str = INPUT) -> DataFrame:
        """Returns one output: the emitted rows, or the late rows, invalid rows or counts of one input.

        Args:
            kind: the output.
            port: the input of "late", "invalid" and "counts".

        Raises:
            SpecError: if the operator has no such input.
        """
        if kind != "panes" and port not in self.spec.ports:
            rule = f"the inputs of the operator are {list(self.spec.ports)}"
            raise SpecError(f"port={port!r}", rule, "name one of these")
        return self._alone(labelled(kind, port))


RESULTS: Final[Mapping[Family, type[OperatorResult]]] = {
    WINDOWS: WindowResult,
    CHAIN: WindowResult,
    OVER: OverResult,
    DEDUPLICATE: DeduplicateResult,
    POLICY: PolicyResult,
    JOIN: JoinResult,
    WINDOWED_JOIN: WindowedJoinResult,
    COGROUP: CogroupResult,
}


def result_class(spec: Specification) -> type[OperatorResult]:
    """Returns the class of the outputs of a specification."""
    return RESULTS.get(spec.family, FamilyResult)
