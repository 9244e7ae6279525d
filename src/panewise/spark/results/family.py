"""The outputs of the operators of other packages' families."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.envelope import labelled
from panewise.spark.query import WindowQuery
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.sinks import Sink
from panewise.spark.writer import WriteOptions


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

    def write(
        self,
        sinks: Mapping[str, Sink],
        *,
        checkpoint: str | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
    ) -> WindowQuery:
        """Writes the outputs to their sinks from one query, exactly once.

        Args:
            sinks: a sink for each output: "panes", and "late", "invalid" and "counts". In an operator with
                several inputs the last three end in "@" and the name of the input: "late@left". Those of
                earlier operators are named as in :meth:`panewise.spark.WindowResult.write`.
            checkpoint: directory of the query's checkpoint. Required on a stream.
            available_now: as in :meth:`panewise.spark.WindowResult.write`.
            processing_time: as in :meth:`panewise.spark.WindowResult.write`.
            name: as in :meth:`panewise.spark.WindowResult.write`.

        Raises:
            SpecError: if there is no such output, or as in :meth:`panewise.spark.WindowResult.write`.
            StateError: as in :meth:`panewise.spark.WindowResult.write`.
        """
        known = list(self._outputs().values())
        if not self.before:
            for kind in sinks:
                if kind not in known:
                    raise SpecError(f"a sink for {kind!r}", f"the outputs are {known}", "give one of these")
        own = {kind: sink for kind, sink in sinks.items() if kind in known}
        earlier = {kind: sink for kind, sink in sinks.items() if kind not in known}
        return self._write(own, WriteOptions(checkpoint, available_now, processing_time, name), earlier)
