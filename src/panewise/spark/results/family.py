"""The outputs of the operators of other packages' families."""

from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.envelope import labelled
from panewise.spark.results.operator_result import OperatorResult


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
        return self._alone(labelled(kind, port), whole_rows=kind in ("late", "invalid"))
