"""The output of an interpreter after an event: panes, late rows, invalid rows and counts."""

from collections.abc import Iterable
from typing import Any

from panewise.errors import InputError

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


def rows_after_finish(of: str = "") -> InputError:
    """Returns the error for rows after the end of input. `of` names a side."""
    rule = "nothing is added after the end of input"
    return InputError(f"rows{of} after finish", rule, "add the rows before finish")
