"""What an interpreter gives after an event."""

from collections.abc import Iterable
from typing import Any

COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")
Output = dict[str, Any]


def nothing() -> Output:
    """No output."""
    return {"panes": [], "late": [], "invalid": [], "counts": dict.fromkeys(COUNTS, 0)}


def joined(outputs: Iterable[Output]) -> Output:
    """Outputs one after the other."""
    whole = nothing()
    for output in outputs:
        for part in ("panes", "late", "invalid"):
            whole[part] += output[part]
        for name in COUNTS:
            whole["counts"][name] += output["counts"][name]
    return whole
