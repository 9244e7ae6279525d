"""The outputs of window operators and chains."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame

from panewise.spark.query import WindowQuery
from panewise.spark.results.single_input import SingleInputResult
from panewise.spark.sinks import Sink
from panewise.spark.writer import WriteOptions
from panewise.spec import Aggregate, Chain, WindowOperator


@dataclass(frozen=True, repr=False)
class WindowResult(SingleInputResult):
    """The outputs of a window operator or a chain.

    Each of the DataFrames is a query of its own. :meth:`write` writes several outputs from one query.
    """

    spec: WindowOperator | Chain

    @cached_property
    def panes(self) -> DataFrame:
        """The panes: keys, window_start, window_end, aggregates, timing, index and others (semantics 20).

        This query only counts late rows. :attr:`late` and :meth:`write` return them.
        """
        return self._alone("panes", whole_rows=False)

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "WindowResult":
        """Returns the outputs of a chain with one more stage, whose rows are these panes (semantics 30).

        Example::

            hourly = windowed(df, "ts").groupBy("origin", "carrier").window(pw.Tumbling("1 hour"))
            by_carrier = hourly.agg(F.count().alias("flights"))
            sums = [F.sum("flights").alias("flights"), F.max("flights").alias("most")]
            by_origin = by_carrier.then(keys=["origin"], aggregates=sums)

        Raises:
            SpecError: if the stage breaks a rule.
        """
        chain = self.spec.then(keys=keys, aggregates=aggregates)
        return replace(self, spec=chain, dataflow=self.dataflow.with_spec(chain))

    def write(
        self,
        *,
        checkpoint: str | None = None,
        panes: Sink | None = None,
        late: Sink | None = None,
        invalid: Sink | None = None,
        counts: Sink | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
        **earlier: Sink | None,
    ) -> WindowQuery:
        """Writes the outputs to their sinks from one query, exactly once.

        A sink is a ParquetSink, or a function of (DataFrame, batch_id) that may be called again with the same
        batch. No two ParquetSinks may have the same path.

        Args:
            checkpoint: directory of the query's checkpoint. Required on a stream.
            panes: sink of the panes.
            late: sink of the late rows.
            invalid: sink of the invalid rows.
            counts: sink of the counts.
            available_now: whether the query stops once it has processed all input that is available.
            processing_time: interval between micro-batches, such as "10 seconds". Not with `available_now`.
            name: name of the query in Spark's UI, listeners and `spark.streams.active`. Default: none.
            earlier: if the input is a result, sinks of outputs of the earlier operators: `first_late`,
                `first_counts`, `second_panes`, ... (semantics 42.9). A name consists of the number of the
                operator, in the order in which rows pass them, and the name in `write` of that operator.

        Raises:
            SpecError: if there is no sink, a sink cannot take rows, two sinks have one path, a stream has no
                checkpoint, `available_now` and `processing_time` are both given, or finish("at_end") is set
                without `available_now`.
            StateError: if the checkpoint was made by another specification or number of shards, or at another
                path.
        """
        return self._write(
            {"panes": panes, "late": late, "invalid": invalid, "counts": counts},
            WriteOptions(checkpoint, available_now, processing_time, name),
            earlier,
        )
