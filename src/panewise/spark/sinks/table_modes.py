"""What sinks of tables share: the modes "append" and "upsert", and the key of a row."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from panewise.errors import SpecError
from panewise.spark.sinks.base import SinkOutput
from panewise.spark.sinks.current import net_effect
from panewise.spark.sinks.result_check import check_results
from panewise.spark.sinks.sequence import unused_name
from panewise.spec.conditions.text import in_backticks

TableMode: TypeAlias = Literal["append", "upsert"]


class KeyedSink(Protocol):
    """The fields that these sinks have."""

    @property
    def mode(self) -> TableMode:
        """How rows are written."""

    @property
    def key(self) -> Sequence[str] | None:
        """The columns that identify a row, if they are given."""


def check_mode(sink: str, mode: str, key: Sequence[str] | None) -> None:
    """Checks the mode and the key that a sink is given."""
    if mode not in ("append", "upsert"):
        rule = 'a table is written with mode="append" or mode="upsert"'
        raise SpecError(f"{sink}(mode={mode!r})", rule, "give one of the two")
    if key is not None and (isinstance(key, str) or not key or len({*key}) < len(key)):
        rule = "a key is a sequence of different names of columns"
        raise SpecError(f"{sink}(key={key!r})", rule, 'give the names, such as ("user", "window_start")')
    if key is not None and mode == "append":
        rule = "a table to which rows are only added needs no key"
        raise SpecError(f"{sink}(key={key!r})", rule, 'leave out the key, or give mode="upsert"')


def key_of(sink: KeyedSink, output: SinkOutput) -> tuple[str, ...]:
    """Returns the columns that identify a row of the table; none if rows are only added."""
    if sink.mode == "append":
        return ()
    if output.kind != "panes":
        rule = "late rows, invalid rows and counts are only appended"
        raise SpecError(f"{output.name} with mode='upsert'", rule, 'give mode="append"')
    key = output.key if sink.key is None else tuple(sink.key)
    if not key:
        rule = "rows without keys or bounds of windows have no columns that identify them"
        raise SpecError(f"{output.name} with mode='upsert'", rule, 'give key=(...), or mode="append"')
    if missing := [name for name in key if name not in columns_written(sink, output).names]:
        rule = f"the columns are {', '.join(output.schema.names)}"
        raise SpecError(f"{output.name} with the key {missing[0]!r}", rule, "give names of these")
    return key


def check_results_of(sink: KeyedSink, output: SinkOutput) -> None:
    """Checks, with "upsert", that the last row of a key is its result."""
    if key := key_of(sink, output):
        check_results(f"{output.name} with mode='upsert'", output, key, "mode='append'")


def check_values(fault: str, unfilled: Iterable[str], remedy: str) -> None:
    """Checks that a table has no columns that need a value and get none, from the rows or from the table."""
    for name in unfilled:
        rule = f"the rows have no column {name}, which is NOT NULL and has no default in the table"
        raise SpecError(fault, rule, remedy)


def columns_written(sink: KeyedSink, output: SinkOutput) -> StructType:
    """Returns the columns of the table. With "upsert" there is no `op`: each row is the result of its key."""
    left_out = output.op if sink.mode == "upsert" else None
    return StructType([field for field in output.schema.fields if field.name != left_out])


def operation_of(output: SinkOutput) -> str:
    """Returns the name of the column of :func:`rows_written` with "upsert" or "delete"."""
    return unused_name(output.schema.names, "__operation")


def rows_written(sink: KeyedSink, rows: DataFrame, output: SinkOutput) -> DataFrame:
    """Returns the rows to write. With "upsert" they are one for each key, and say whether it is deleted."""
    names = [in_backticks(name) for name in columns_written(sink, output).names]
    if sink.mode == "append":
        return rows.select(*names)
    assert output.sequence is not None, "emitted rows have one"
    operation = operation_of(output)
    changes = net_effect(rows, key_of(sink, output), output.sequence, operation, output.op)
    return changes.select(*names, operation)
