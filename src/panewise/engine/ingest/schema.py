"""The check that an operator can use the columns of its input."""

from collections.abc import Mapping

import polars as pl

from panewise.engine.columns import ROW
from panewise.engine.ingest.validate import MARKS
from panewise.errors import SpecError
from panewise.spec import Entry


def check_columns(spec: Entry, schema: Mapping[str, pl.DataType]) -> None:
    """Checks that the columns that an operator reads exist, and that none has a reserved name.

    Raises:
        SpecError: if a column is missing or has a reserved name.
    """
    for name in spec.columns_read:
        if name not in schema:
            remedy = f"use one of the columns {sorted(schema)}"
            raise SpecError(f"column {name!r}", "the columns that an operator reads are in its input", remedy)
    own = [name for name in schema if name.startswith("__") and name not in (ROW, *MARKS)]
    if own:
        raise SpecError(
            f"column {own[0]!r}", "names that start with '__' are the operator's own", "rename the column"
        )
