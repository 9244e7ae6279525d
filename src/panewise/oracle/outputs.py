"""The output of an interpreter after an event: panes, late rows, invalid rows and counts."""

from collections.abc import Iterable
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.errors import InputError
from panewise.oracle.columns import sort_key

COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")
Output = dict[str, Any]


def empty_output() -> Output:
    """Returns an output without rows, whose counts are all 0."""
    return {"panes": [], "late": [], "invalid": [], "counts": dict.fromkeys(COUNTS, 0)}


def concatenate(outputs: Iterable[Output]) -> Output:
    """Concatenates the rows of outputs, in their order, and adds up their counts."""
    whole = empty_output()
    for output in outputs:
        for part in ("panes", "late", "invalid"):
            whole[part] += output[part]
        for name in COUNTS:
            whole["counts"][name] += output["counts"][name]
    return whole


def stored_window(
    keys: dict[str, Any], start: int, end: int | None, *, timed: bool, pending: int = 1
) -> dict[str, Any]:
    """Returns rows that are stored without a window as one; without an event time it has no bounds."""
    return {
        **keys,
        "window_start": start if timed else None,
        "window_end": min(end, MAX_INSTANT) if timed and end is not None else None,
        "pending": pending,
        "closed": False,
    }


def place_of_stored(window: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    """Returns a sort key of what :func:`stored_window` returns: end, start, keys, with nulls first."""
    return [sort_key(window[name]) for name in ("window_end", "window_start", *keys, "pending")]


def rows_after_finish(of: str = "") -> InputError:
    """Returns the error for rows after the end of input. `of` names a side."""
    rule = "nothing is added after the end of input"
    return InputError(f"rows{of} after finish", rule, "add the rows before finish")
