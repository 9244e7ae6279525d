"""What the outputs of all operator families have in common."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path, PurePath
from typing import Any, ClassVar, Self

from pyspark.sql import Column, DataFrame

from panewise.chrono import InstantLike, instant_us
from panewise.errors import SetupError, SpecError
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.dataflow.history import export_history
from panewise.spark.dataflow.output_schemas import unpacked
from panewise.spark.dataflow.static_side import check_output
from panewise.spark.inputs.emitted import emitted_dataframe
from panewise.spark.queries.bound_sinks import check_sequence
from panewise.spark.queries.display import result_html
from panewise.spark.queries.query import WindowQuery
from panewise.spark.queries.selection import Selection
from panewise.spark.queries.write_arguments import EarlierOutput, WriteOptions
from panewise.spark.queries.writer import start, whole_rows
from panewise.spark.results.rows_between import ResultRows
from panewise.spark.results.watermarked_output import timely_column, with_watermark_of_query
from panewise.spark.shuffle.envelope import kind_of, labelled
from panewise.spark.sinks.arguments import check_sinks, resolved_sink
from panewise.spark.sinks.base import AnySink
from panewise.spec import Specification
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.spec.describe import describe
from panewise.spec.row_filter import RowFilter


@dataclass(frozen=True)
class Given:
    """The arguments of `apply`.

    Attributes:
        spec: the specification, which may contain expressions.
        apply_again: a function that applies another specification to the same input, with the same options.
    """

    spec: Specification
    apply_again: Callable[[Specification], Any]


@dataclass(frozen=True, repr=False)
class OperatorResult:
    """The outputs of an operator.

    Each of the DataFrames is a query of its own. `write` writes several outputs from one query.

    Attributes:
        spec: the specification, with names in the place of expressions.
        dataflow: the operator as a Spark plan.
        at_end: whether `finish="at_end"` is set: the end of a stream is the end of input.
        given: the arguments of `apply` that made this result.
        before: the results that are inputs of the operator, by port.
        steps: functions that are applied, in order, to the rows of the first output before they are returned
            or written (semantics 46.3).
        words: the steps in words, for `explain`.
        shown: which of the emitted rows remain after the steps, for the record of a checkpoint.
    """

    OUTPUT: ClassVar[str] = "panes"  # the name of the first output

    spec: Specification
    dataflow: Dataflow
    at_end: bool
    given: Given
    before: "Mapping[str, OperatorResult]" = field(default_factory=dict)
    steps: tuple[Callable[[DataFrame], DataFrame], ...] = ()
    words: str = ""
    shown: RowFilter = field(default_factory=RowFilter, kw_only=True)

    def _with_spec(self, spec: Specification) -> Self:
        """Returns the outputs of another specification of the same family of results over the same inputs."""
        return replace(
            self, spec=spec, dataflow=self.dataflow.with_spec(spec), steps=(), words="", shown=RowFilter()
        )

    def explain(self) -> str:
        """Returns a description in words of what is emitted and when."""
        return f"{describe(self.spec)}\n{self.words}" if self.words else describe(self.spec)

    @property
    def _selects(self) -> bool:
        """Whether the first step names all columns that it reads, so that further ones are left out."""
        step = self.steps[0] if self.steps else None
        return isinstance(step, Selection) and step.explicit

    def __repr__(self) -> str:
        """Returns the class, the names of the outputs, and what kind of operator they come from."""
        kind = "stream" if self.dataflow.df.isStreaming else "batch"
        outputs = ", ".join(self._outputs())
        return f"<{type(self).__name__} of a {type(self.spec).__name__} over a {kind}: {outputs}>"

    def _repr_html_(self) -> str:
        """Returns the words of the specification, its timeline, and the columns of the outputs as HTML."""
        dtypes = {
            name: [
                (field.name, field.dataType.simpleString())
                for field in self.dataflow.unpacker(kind, all_columns=True).target.fields
            ]
            for name, kind in self._outputs().items()
        }
        return result_html(self.spec, dtypes)

    def _outputs(self) -> dict[str, str]:
        """Returns the kind of envelopes of each output, by its name in `write`."""
        ports = self.spec.ports
        rejected = [labelled(kind, port) for port in ports for kind in ("late", "invalid", "counts")]
        return {self._argument(kind): kind for kind in ("panes", *rejected)}

    def check_input(self) -> None:
        """Checks that the rows of this result can be the input of another operator.

        Raises:
            SpecError: if they lack something that the user has added to them.
        """

    def where(self, condition: Column | str) -> ResultRows:
        """Returns the rows of the first output for which a condition is true, as an input of an operator.

        Example::

            busy = hourly.where("n > 10")
            windowed(busy, "timestamp").window(pw.Tumbling("1 day")).agg(F.count().alias("busy"))

        Source: semantics 42.8; SQL's HAVING.
        """
        return ResultRows(self, self.steps).where(condition)

    def select(self, *columns: Column | str) -> ResultRows:
        """Returns the rows of the first output with these columns, as an input of another operator.

        See :class:`panewise.spark.ResultRows`.
        """
        return ResultRows(self, self.steps).select(*columns)

    def withColumn(self, name: str, column: Column) -> ResultRows:  # noqa: N802 - PySpark's name
        """Returns the rows of the first output with one more column, as an input of another operator.

        See :class:`panewise.spark.ResultRows`.
        """
        return ResultRows(self, self.steps).withColumn(name, column)

    def withColumns(self, columns: Mapping[str, Column]) -> ResultRows:  # noqa: N802 - PySpark's name
        """Returns the rows of the first output with more columns, as an input of another operator.

        See :class:`panewise.spark.ResultRows`.
        """
        return ResultRows(self, self.steps).withColumns(columns)

    def write(
        self,
        sinks: Mapping[str, AnySink | str | PurePath | None] | None = None,
        /,
        *,
        checkpoint: str | PurePath | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
        added_aggregates: AddedAggregates = "null",
        initial_state: str | None = None,
        sequence: str | None = None,
        **by_name: AnySink | str | PurePath | None,
    ) -> WindowQuery:
        """Writes outputs to their sinks from one query. A ParquetSink gets each row exactly once.

        The names of the outputs are:

        - the emitted rows: `panes`; those of OVER operators, deduplications and joins `rows`; those of policy
          windows `events`;
        - with one input: `late`, `invalid` and `counts`;
        - with two sides: `left_late`, `right_late`, `left_invalid`, `right_invalid`, `left_counts` and
          `right_counts`;
        - with several inputs of an operator of another package's family: `late@left` and the like, with the
          name of the input;
        - if an input is a result, the outputs of the earlier operators: `first_late`, `first_counts`,
          `second_panes`, ... (semantics 42.9): the number of the operator, in the order in which rows pass
          them, and the name of its output.

        A sink is an object such as ParquetSink, a path, the name of a Delta table, or a function of
        (DataFrame, batch_id) that may be called again with the same batch. A text with a slash is a path. No
        two sinks may have the same path or table.

        On batch DataFrames the outputs are written before it returns. No query runs then, and `checkpoint`,
        `available_now`, `processing_time`, `name` and `added_aggregates` have no effect. So a program may run
        over both.

        Args:
            sinks: the sinks by the names of the outputs, for names that cannot be those of arguments.
            checkpoint: directory of the query's checkpoint. Required on a stream.
            available_now: whether the query stops once it has processed all input that is available.
            processing_time: interval between micro-batches, such as "10 seconds". Not with `available_now`.
            name: name of the query in Spark's UI, listeners and `spark.streams.active`. Default: none.
            initial_state: a file that `panewise state export` wrote, on the disk of the driver. A new
                checkpoint begins with its state (semantics 48). A checkpoint that began with it continues as
                without it.
                Default: none.
            sequence: name of a new column of the emitted rows, a BIGINT that orders those with one key also
                across micro-batches (semantics 49.1). :func:`panewise.spark.current` reads it. Default: none.
            added_aggregates: if the checkpoint was made without some of the aggregates: "null", they are null
                in panes with rows from before, or "from_now_on", they do not count these (semantics 47.3).
                Default: "null".
            by_name: the sinks by the names of the outputs, such as `panes=ParquetSink("panes")`.

        Raises:
            SpecError: if there is no sink, no output of such a name, a sink cannot take rows or not this
                output, two sinks have one path, a stream has no checkpoint, `available_now` and
                `processing_time` are both given, finish("at_end") is set without `available_now`, or
                emitted rows have a column of the name `sequence`.
            StateError: if the checkpoint was made by a specification that this one cannot continue (semantics
                47.2), by another number of shards, or at another path; if `initial_state` was made by another
                specification, or the checkpoint has another state.
        """
        directory = str(checkpoint) if isinstance(checkpoint, PurePath) else checkpoint
        options = WriteOptions(
            directory, available_now, processing_time, name, sequence, initial_state, added_aggregates
        )
        kinds, named = self._outputs(), {**_by_name(sinks, by_name), **by_name}
        resolved = {output: resolved_sink(sink) for output, sink in named.items()}
        own = {kinds[output]: sink for output, sink in resolved.items() if output in kinds}
        return self._write(
            own, options, {output: sink for output, sink in resolved.items() if output not in kinds}
        )

    def export_state(
        self, file: str | Path, *, watermark: InstantLike | None = None, replace: bool = False
    ) -> None:
        """Writes the state that the rows of batch DataFrames leave to a file (semantics 48.5).

        A query of the same operator over a stream begins with it: `write(..., initial_state=file)`. So
        history is read as a batch, and its results become the state of the stream. What the rows of the
        history emit is discarded.

        Args:
            file: the file, on the disk of the driver. It gets its name when it is complete.
            watermark: the watermark to which the query then begins: the latest event time of the history less
                the delay of the stream's watermark. Windows that end by then are emitted by nobody, unless
                you also write the batch. An int is microseconds since 1970-01-01 UTC. Default: none, no
                window is complete.
            replace: whether a file of this name is replaced. Default: False.

        Example::

            history = windowed(spark.read.parquet("orders"), "ts").groupBy("shop").window(pw.Global())
            history.trigger(pw.Always()).agg(F.sum("amount").alias("total")).export_state("orders.state")

        Raises:
            SpecError: if an input is a stream, or the result of another operator.
            StateError: if the file exists and `replace` is False, or cannot be written.

        Source: semantics 48.5.
        """
        if self.dataflow.df.isStreaming or self.before:
            rule = "the history of an operator are batch DataFrames (semantics 48.5)"
            remedy = "read it as a batch; of a query over streams use `panewise state export CHECKPOINT FILE`"
            raise SpecError(f"export_state({str(file)!r}) of a {self!r}", rule, remedy)
        until = None if watermark is None else instant_us(watermark, "watermark")
        export_history(self.dataflow, Path(file), time.time_ns() // 1000, until, replace=replace)

    def _write(
        self, sinks: Mapping[str, AnySink | None], options: WriteOptions, others: Mapping[str, AnySink | None]
    ) -> WindowQuery:
        """Starts a query that writes outputs; a sink of None is no sink.

        `sinks` are those of outputs of this operator, by the kinds of envelopes. `others` are those of
        earlier operators, by the names of their outputs in `write`.
        """
        wanted = {kind: sink for kind, sink in sinks.items() if sink is not None}
        earlier, dataflow = self._earlier_outputs(others, options), self.dataflow
        is_stream = dataflow.df.isStreaming
        for kind in wanted:
            check_output(kind, dataflow.static)
        for output in earlier.values():
            check_output(output.kind, output.dataflow.static)
        names = {kind: self._argument(kind) for kind in wanted}
        named = {names[kind]: sink for kind, sink in wanted.items()}
        kinds = dict(zip(names.values(), names, strict=True)) | {n: o.kind for n, o in earlier.items()}
        check_sinks(named | {name: output.sink for name, output in earlier.items()}, self.OUTPUT, kinds)
        check_sequence(options.sequence, kinds.values())
        if self.at_end and is_stream and not options.available_now:
            raise SpecError(
                "finish='at_end' without available_now",
                "only a run that ends can end its input",
                "give available_now=True",
            )
        if not is_stream:
            for output in earlier.values():
                output.write()
            earlier = {}
        outputs, steps, shown = list(earlier.values()), self.steps, self.shown
        at_end = self.at_end
        return start(dataflow, wanted, names, options, outputs, at_end=at_end, steps=steps, shown=shown)

    def _earlier(self) -> "list[OperatorResult]":
        """Returns the results of the earlier operators of the query, in the order in which rows pass them."""
        results: list[OperatorResult] = []
        for result in self.before.values():
            known = {id(other.dataflow) for other in results}
            results += [other for other in (*result._earlier(), result) if id(other.dataflow) not in known]
        return results

    def _earlier_outputs(
        self, sinks: Mapping[str, AnySink | None], options: WriteOptions
    ) -> dict[str, EarlierOutput]:
        """Returns the outputs of earlier operators that have a sink, by their names in `write`."""
        known: dict[str, tuple[OperatorResult, str, int]] = {}
        for number, result in enumerate(self._earlier()):
            for name, kind in result._outputs().items():
                known[f"{_ordinal(number)}_{name}"] = result, kind, number
        for argument in sinks:
            if argument not in known:
                earlier = f", those of earlier operators {sorted(known)} (semantics 42.9)" if known else ""
                rule = f"the outputs are {list(self._outputs())}{earlier}"
                raise SpecError(f"write({argument}=...)", rule, "give one of these")
        outputs = {}
        for name, sink in sinks.items():
            if sink is not None:
                result, kind, number = known[name]
                own = options if kind == "panes" else replace(options, sequence=None)
                write = partial(result._write, {kind: sink}, own, {})
                outputs[name] = EarlierOutput(result.dataflow, name, kind, number, sink, write)
        return outputs

    def _argument(self, kind: str) -> str:
        """Returns the name that an output has in `write`, given its kind of envelopes."""
        return self.OUTPUT if kind == "panes" else kind

    def _alone(self, kind: str) -> DataFrame:
        """Returns one kind of output as a query of its own."""
        dataflow, is_stream = self.dataflow, self.dataflow.df.isStreaming
        check_output(kind, dataflow.static)
        if is_stream and self.at_end:
            raise SetupError(
                "finish='at_end' without write()",
                "only write() can end the input of a stream",
                f"use result.write({self._argument(kind)}=..., checkpoint=..., available_now=True)",
            )
        all_columns = whole_rows([kind])
        packed = dataflow.packed(late_wanted=kind_of(kind) == "late", all_columns=all_columns)
        schemas = dataflow.schemas(all_columns=all_columns)
        unpack = dataflow.unpacker(kind, all_columns=all_columns)
        direct = unpack if is_stream and unpack.flat else None
        rows = dataflow.stepped(packed, schemas, direct, selected=kind == "panes" and self._selects)
        rows = unpacked(rows, unpack) if direct is None else rows
        if is_stream:
            column = timely_column(dataflow) if kind == "panes" else None
            rows = emitted_dataframe(
                rows if column is None else with_watermark_of_query(rows, column), column
            )
        return reduce(lambda shaped, step: step(shaped), self.steps if kind == "panes" else (), rows)


def kinds_of(result: OperatorResult) -> dict[str, str]:
    """Returns the kind of envelopes of each output of an operator, by its name in `write`."""
    return result._outputs()


def check_outputs(result: OperatorResult, names: Collection[str]) -> None:
    """Checks, before a query starts, that an operator or an earlier one has outputs of these names.

    Raises:
        SpecError: if one is missing.
    """
    kinds = result._outputs()
    for kind in (kinds[name] for name in names if name in kinds):
        check_output(kind, result.dataflow.static)
    others = dict.fromkeys(name for name in names if name not in kinds)
    result._earlier_outputs(others, WriteOptions(None, available_now=False, processing_time=None, name=None))


def output_of(result: OperatorResult, kind: str) -> DataFrame:
    """Returns one kind of output of an operator as a query of its own."""
    return result._alone(kind)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _ordinal(number: int) -> str:
    """Returns the name of an earlier operator; that of the eleventh is "operator11"."""
    return _ORDINALS[number] if number < len(_ORDINALS) else f"operator{number + 1}"


def _by_name(sinks: Any, others: Mapping[str, Any]) -> Mapping[str, AnySink | str | PurePath | None]:
    """Returns the mapping of sinks that `write` was given. `others` are the sinks given by name."""
    if sinks is None:
        return {}
    if not isinstance(sinks, Mapping):
        rule = "a sink is given by the name of its output"
        raise SpecError(f"write({sinks!r})", rule, "write for example write(panes=sink)")
    twice = sorted({*sinks} & {*others})
    if twice:
        raise SpecError(f"two sinks for {', '.join(twice)}", "an output has one sink", "give one of them")
    return sinks
