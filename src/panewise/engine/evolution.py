"""Takes stored state over under another specification, or with other columns of the input (semantics 47).

What may change of a specification is decided in :mod:`panewise.spec.evolution`, and how rows are then
converted by the families (:class:`panewise.engine.family_parts.TakeOver`). For other columns of the input
:mod:`panewise.engine.checkpoint` decides both. Here it is done to the tables of a state, run by run, so
memory contains one run at a time besides the new ones, which the next commit stores.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import polars as pl

from panewise.engine.columns import TOMBSTONE
from panewise.engine.family_parts import TakeOver, engine_parts
from panewise.engine.protocol import Operator
from panewise.engine.run_library import RunLibrary
from panewise.engine.tables.run import RunRows
from panewise.engine.tables.stored_table import StoredTable
from panewise.errors import StateError
from panewise.spec.evolution import Continuation
from panewise.state import Run

_LOG: Final = logging.getLogger("panewise.evolution")
_OF_STORAGE: Final = re.compile(r"^(\d+:)?(__\w+:)?")  # what the storage puts before the name of a column


def log_change(what: str, change: Continuation) -> None:
    """Says in one line of the log that a state is continued with another specification."""
    _LOG.warning("%s is continued with a changed specification (%s)", what, change)


def take_over(operator: Operator, change: Continuation, header: Mapping[str, Any]) -> TakeOver:
    """Returns how the operator takes over a state with this header, which has seen a commit."""
    make = engine_parts(operator.spec).take_over
    if make is None:
        clocks = operator.with_header(header).clocks
        return TakeOver(header, operator.horizons(clocks))
    return make(operator, change.before, header)


def other_types(what: str) -> StateError:
    """Returns the error for columns of other types than those of a stored state."""
    rule = "the columns of a state have fixed types"
    remedy = "give the input the columns that it had, with their types, or start from a new checkpoint"
    return StateError(what, rule, remedy)


def other_columns(different: Iterable[str]) -> StateError:
    """Returns the error for stored columns that are missing, or have other types, by their stored names.

    It names the columns of the user: those without the number of the table and the name of the partial.
    """
    names = sorted({_OF_STORAGE.sub("", name) for name in different})
    return other_types(f"a state with other columns: {names}")


def converted_rows(table: StoredTable, rows: pl.DataFrame, name: str, how: TakeOver) -> pl.DataFrame:
    """Returns rows of a stored table, with ``__dead``, as rows of this one.

    Raises:
        StateError: if a column that stays has another type than before.
    """
    convert = how.tables.get(name)
    columns = {**table.shape.schema, TOMBSTONE: pl.Boolean()}
    changed = rows if convert is None else convert(rows)
    different = sorted(column for column, dtype in columns.items() if changed.schema.get(column) != dtype)
    if different:
        raise other_columns(different)
    return changed.select(*columns)


def converted(table: StoredTable, name: str, how: TakeOver) -> StoredTable:
    """Returns a table with converted runs, if its rows are among those that change."""
    library = table.library
    if not isinstance(library, RunLibrary) or name not in how.tables:
        return table
    return replace(table, runs=tuple(_converted_run(table, library, run, name, how) for run in table.runs))


def _converted_run(table: StoredTable, library: RunLibrary, run: Run, name: str, how: TakeOver) -> Run:
    rows = RunRows(library.read_stored(run))
    frame = converted_rows(table, rows.frame, name, how)
    sorted_rows = RunRows.with_hashes(frame, table.shape)
    if (sorted_rows.hashes[1:] < sorted_rows.hashes[:-1]).any():  # other columns decide the place of a row
        sorted_rows = RunRows.sorted_by_hash(frame, table.shape)
    described = sorted_rows.described(library.new_name(), run.part)
    library.add(described, sorted_rows)
    return described
