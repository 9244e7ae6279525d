"""Checks the header of a manifest: the clocks and everything else of an operator that is not in a table."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from panewise.errors import StateError
from panewise.state.manifest import REMEDY, Checks, check_fields, optional, whole

_CLOCKS = ("processing_time", "watermark", "finished")
_RULE = "a manifest is the JSON that panewise wrote"


def checked(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the header, after checking it. `{}` is the header of a state without any commit.

    Raises:
        StateError: if a field is missing, or has a value that it cannot have.
    """
    if header:
        known = {name: value for name, value in header.items() if name in _FIELDS}
        check_fields("a header", known, _FIELDS, required=(*_CLOCKS, "marks"))
    return header


def marks_table(rows: list[list[Any]], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Returns the marks of source positions as a table.

    Raises:
        StateError: if they do not have these columns.
    """
    try:
        return pl.DataFrame(rows, schema=dict(schema), orient="row")
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise StateError(f"a header with marks={str(rows)[:40]!r}", _RULE, REMEDY) from error


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _marks(value: Any) -> bool:
    """Returns whether a value is a list of lists of nulls, texts, whole numbers and Booleans."""
    scalars = (
        [one for row in value if isinstance(row, list) for one in row] if isinstance(value, list) else [[]]
    )
    return all(one is None or isinstance(one, str) or _instant(one) or _flag(one) for one in scalars) and all(
        isinstance(row, list) for row in value
    )


def _inputs(value: Any) -> bool:
    """Returns whether a value has the form of `inputs`.

    `since` is the first reading of the clock. `told` has a pair for each input: its watermark, and when it
    last reported one.
    """
    if (
        not isinstance(value, dict)
        or value.keys() != {"since", "told"}
        or not isinstance(value["told"], dict)
    ):
        return False
    pairs = list(value["told"].values())
    return _instant_or_none(value["since"]) and all(
        isinstance(pair, list) and len(pair) == 2 and all(_instant_or_none(one) for one in pair)
        for pair in pairs
    )


_instant = whole()
_instant_or_none = optional(_instant)
_FIELDS: Checks = {
    "processing_time": _instant,
    "watermark": _instant_or_none,
    "finished": _flag,
    "marks": _marks,
    "types": _texts,
    "inputs": _inputs,
    "received": whole(0),
    "tally": whole(0),
    "in_blocks": _flag,
    "timer": _instant_or_none,
}
