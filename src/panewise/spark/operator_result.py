"""What the outputs of all operator families have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from pyspark.sql import DataFrame

from panewise.chrono import DurationLike
from panewise.errors import SetupError, SpecError
from panewise.spark.dataflow import Dataflow, unpacked
from panewise.spark.envelope import kind_of
from panewise.spark.sinks import Sink, check_sinks
from panewise.spark.writer import WindowQuery, start
from panewise.spec import Specification
from panewise.spec.describe import describe


@dataclass(frozen=True)
class Given:
    """The arguments of a call of `apply`."""

    df: DataFrame | Mapping[str, DataFrame]
    spec: Specification
    finish: Literal["never", "at_end"] | None
    shards: int | None
    clock: DurationLike | None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments besides the DataFrame and the specification."""
        return {"finish": self.finish, "shards": self.shards, "clock": self.clock}


@dataclass(frozen=True)
class OperatorResult:
    """The outputs of an operator.

    Each of the DataFrames is a query of its own. `write` writes several outputs from one query.

    Attributes:
        spec: the specification, with names in the place of expressions.
        dataflow: the operator as a Spark plan.
        at_end: whether the end of a stream ends the input.
        given: what `apply` was called with.
    """

    OUTPUT: ClassVar[str] = "panes"  # what the family calls its first output

    spec: Specification
    dataflow: Dataflow
    at_end: bool
    given: Given

    @cached_property
    def late(self) -> DataFrame:
        """The late rows: row STRUCT, reason, windows ARRAY, late_by (microseconds), partial.

        Source: semantics 13.4.
        """
        return self._alone("late", whole_rows=True)

    @cached_property
    def invalid(self) -> DataFrame:
        """The invalid rows, which the operator cannot take: row STRUCT, reason (semantics 15)."""
        return self._alone("invalid", whole_rows=True)

    @cached_property
    def counts(self) -> DataFrame:
        """The numbers of rows in, applied, replayed, late and invalid (semantics 15.1).

        There is one row for each shard and micro-batch.
        """
        return self._alone("counts", whole_rows=False)

    def explain(self) -> str:
        """Returns a description in words of what is emitted and when."""
        return describe(self.spec)

    def _write(
        self,
        first: Sink | None,
        *,
        late: Sink | None,
        invalid: Sink | None,
        counts: Sink | None,
        checkpoint: str | None,
        available_now: bool,
        processing_time: str | None,
        name: str | None,
    ) -> WindowQuery:
        """Starts the query of `write`; `first` is the sink of the family's first output."""
        outputs = {self.OUTPUT: first, "late": late, "invalid": invalid, "counts": counts}
        sinks = {output: sink for output, sink in outputs.items() if sink is not None}
        kinds = {"panes" if output == self.OUTPUT else output: sink for output, sink in sinks.items()}
        return self._start(
            kinds,
            checkpoint=checkpoint,
            available_now=available_now,
            processing_time=processing_time,
            name=name,
        )

    def _start(
        self,
        sinks: Mapping[str, Sink],
        *,
        checkpoint: str | None,
        available_now: bool,
        processing_time: str | None,
        name: str | None,
    ) -> WindowQuery:
        """Starts a query that writes outputs; `sinks` are given by the kinds of envelopes."""
        check_sinks(
            {self.OUTPUT if kind == "panes" else kind: sink for kind, sink in sinks.items()}, self.OUTPUT
        )
        trigger = _trigger(available_now, processing_time)
        if self.at_end and self.dataflow.df.isStreaming and not available_now:
            raise SpecError(
                "finish='at_end' without available_now",
                "only a run that ends can end its input",
                "give available_now=True",
            )
        return start(self.dataflow, sinks, checkpoint, trigger, at_end=self.at_end, name=name)

    def _alone(self, kind: str, *, whole_rows: bool) -> DataFrame:
        """Returns one kind of output as a query of its own."""
        dataflow = self.dataflow
        if dataflow.df.isStreaming and self.at_end:
            output = self.OUTPUT if kind == "panes" else kind
            raise SetupError(
                "finish='at_end' without write()",
                "only write() can end the input of a stream",
                f"use result.write({output}=..., checkpoint=..., available_now=True)",
            )
        packed = dataflow.packed(late_wanted=kind_of(kind) == "late", all_columns=whole_rows)
        schemas = dataflow.schemas(all_columns=whole_rows)
        unpack = dataflow.unpacker(kind, all_columns=whole_rows)
        if dataflow.df.isStreaming and unpack.flat:
            return dataflow.stepped(packed, schemas, direct=unpack)
        return unpacked(dataflow.stepped(packed, schemas), unpack)


def _trigger(available_now: bool, processing_time: str | None) -> dict[str, Any]:
    """Returns the arguments of Spark's trigger."""
    if available_now and processing_time is not None:
        rule = "a run that stops when everything is processed has no interval between micro-batches"
        given = f"available_now=True with processing_time={processing_time!r}"
        raise SpecError(given, rule, "leave out one of the two")
    if available_now:
        return {"availableNow": True}
    return {} if processing_time is None else {"processingTime": processing_time}
