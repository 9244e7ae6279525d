"""Micro-batches of small joins: rows, operators that commit after each, and what their states contain."""

from collections.abc import Iterator

import polars as pl

from panewise import JoinOperator
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.family_parts import Inspection, engine_parts
from panewise.engine.protocol import Operator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.state import MemoryRunStore

LONG = pl.Int64()
SCHEMAS = {"left": {"k": LONG, "t": LONG, "v": LONG}, "right": {"k": LONG, "t": LONG, "w": LONG}}


def rows(side: str, *given: tuple[int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(given, schema=SCHEMAS[side], orient="row")


def steps(spec: JoinOperator, store: MemoryRunStore) -> Iterator[StoredOperator]:
    """Yields the operator of each micro-batch, which commits as on Spark: only if there is a change."""
    while True:
        stored = StoredOperator.load(spec, SCHEMAS, RunLibrary(store, Cache()))
        yield stored
        if stored.changed:
            stored.commit()


def inspected(operator: Operator) -> Inspection:
    """Returns what an inspection shows of the tables of an operator."""

    def read(table: str, columns: list[str], _: object, horizon: int | None, *more: object) -> pl.DataFrame:
        return operator.state.tables[table].expired(horizon).all().select(columns)

    return engine_parts(operator.spec).inspect(operator.spec, operator.header(), read)
