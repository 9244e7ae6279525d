"""What a Delta table demands of columns of its own, which rows do not have (semantics 49.54, 49.64)."""

import re
from collections.abc import Collection
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from panewise.errors import SpecError
from panewise.spark.sinks.table_modes import check_values
from panewise.spec.conditions.text import in_backticks

_DEFAULT: Final = "CURRENT_DEFAULT"  # in the metadata of a column
_GENERATING: Final = frozenset({"generatedColumns", "identityColumns"})  # features of a table
_CHECK: Final = "delta.constraints."  # begins the names of properties that are CHECK constraints
_REMEDY: Final = "change the table, or give another one"


def check_own_columns(
    session: SparkSession, table: str, existing: StructType, written: Collection[str], fault: str
) -> None:
    """Checks that a table takes rows that have only some of its columns.

    Delta shows no expression of a column that it generates. So a table that may have such columns is not
    checked.

    Args:
        session: the session.
        table: the table, as SQL names it.
        existing: its columns.
        written: the names of the columns of the rows.
        fault: what errors show.

    Raises:
        SpecError: if a column is NOT NULL, or a CHECK constraint of such columns is not true for nulls.
    """
    filled = {column.name for column in existing if _DEFAULT in column.metadata}
    filled = {name.lower() for name in (*written, *filled)}
    own = [column for column in existing if column.name.lower() not in filled]
    if not own:
        return
    (detail,) = session.sql(f"DESCRIBE DETAIL {table}").select("tableFeatures", "properties").collect()
    if not _GENERATING.isdisjoint(detail.tableFeatures):
        return
    check_values(fault, (column.name for column in own if not column.nullable), _REMEDY)
    for name, condition in detail.properties.items():
        if name.startswith(_CHECK) and not any(_mentions(condition, column) for column in filled):
            _check_condition(session, condition, own, fault)


def _check_condition(session: SparkSession, condition: str, own: list[StructField], fault: str) -> None:
    """Checks a constraint that reads only columns of the table's own, which are null."""
    nulls = ", ".join(
        f"CAST(NULL AS {column.dataType.simpleString()}) AS {in_backticks(column.name)}" for column in own
    )
    (row,) = session.sql(f"SELECT ({condition}) AS fulfilled FROM (SELECT {nulls})").collect()
    if not row.fulfilled:
        names = ", ".join(column.name for column in own if _mentions(condition, column.name))
        rule = f"the rows have no column {names}, and null there violates CHECK ({condition})"
        raise SpecError(fault, f"{rule} (semantics 49.64)", _REMEDY)


def _mentions(condition: str, column: str) -> bool:
    """Returns whether a condition may read a column: its name is a word of it.

    >>> _mentions("User_Id > 0", "user_id"), _mentions("user_id > 0", "id")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", condition, re.IGNORECASE) is not None
