"""The entries of an operator in this process, as a checkpoint would have them: its runs and its manifest."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import polars as pl

from panewise.engine.checkpoint import types_of_tables
from panewise.engine.protocol import Operator
from panewise.engine.tables.run import RunRows
from panewise.engine.tables.stored_table import StoredTable
from panewise.spec.codec import to_dict
from panewise.state import Manifest, Run
from panewise.state.export_file import MANIFEST
from panewise.state.run_format import checksum, encode

_VERSION: Final = 1


def entries_of(operator: Operator, more: Mapping[str, Any], shards: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yields name and data of each run of an operator, and last its manifest. `more` is stored in the header.

    `shards` is the number of shards of which the operator is one. One run at a time is in memory, besides the
    state of the operator.
    """
    state, runs = operator.state, list[Run]()
    for number, table in enumerate(state.tables.values()):
        prefix = f"{_VERSION}.{number}" if number else f"{_VERSION}"
        for place, (run, rows) in enumerate(_runs_of(table), 1):
            name = f"{prefix}-{place}"
            data = encode(rows, name)
            runs.append(replace(run, name=name, checksum=checksum(data)))
            yield name, data
    header = {**operator.header(), "types": types_of_tables(state), **more}
    manifest = Manifest(to_dict(operator.spec), shards, _VERSION, tuple(runs), header)
    yield MANIFEST, manifest.encode().encode()


def _runs_of(table: StoredTable) -> Iterator[tuple[Run, pl.DataFrame]]:
    """Yields the runs of a table in order of age, with their rows. The last one has the newest rows."""
    for run in table.runs:
        if table.horizon is None or run.high > table.horizon:
            yield run, table.library.read(run, table.shape).bare
    if table.newest.height:
        yield RunRows(table.newest).described("", None), table.newest
