"""The order of columns, which the equality of dicts ignores."""

from typing import Any


def columns(output: dict[str, Any]) -> list[list[str]]:
    """Returns the column names of each row of an output, in their order (semantics 20.4)."""
    return [list(row) for part in ("panes", "late", "invalid", "windows") for row in output.get(part, [])]
