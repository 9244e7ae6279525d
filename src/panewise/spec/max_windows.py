"""The limit of the windows that are stored for each key (semantics 15.23 to 15.27)."""

from dataclasses import dataclass
from typing import Any, Literal

from panewise.choices import check_choice
from panewise.errors import SpecError
from panewise.spec.fields import is_count, refuse_fields
from panewise.spec.watermarks import has_key_watermarks
from panewise.spec.windows.kinds import Global
from panewise.spec.windows.sliding import Sliding
from panewise.spec.windows.traits import counted, merging


@dataclass(frozen=True)
class MaxWindows:
    """The most windows that each key has at a time, and what happens to a further one.

    It is the field `max_windows` of a :class:`panewise.WindowOperator`. Windows count from their first row
    until they expire, also if they are closed.

    Args:
        n: the most windows of a key, 1 or more. Without keys, of the operator.
        when_full: "emit_oldest": after a batch with more windows the oldest ones expire early, each with its
            last pane. A row for a window that is older than the n windows of its key is late, with the reason
            "full". "stop": such a batch fails.

    Raises:
        SpecError: if a value breaks a rule.

    >>> MaxWindows(100)
    MaxWindows(n=100, when_full='emit_oldest')

    Source: semantics 15.23; Kafka Streams Suppressed.BufferConfig, emitEarlyWhenFull and shutDownWhenFull.
    """

    n: int
    when_full: Literal["emit_oldest", "stop"] = "emit_oldest"

    def __post_init__(self) -> None:
        if not is_count(self.n):
            raise SpecError(f"n={self.n!r}", "a key has one window or more", "give n=1 or more")
        check_choice("when_full", self.when_full, ("emit_oldest", "stop"))


def check_max_windows(spec: Any) -> None:
    """Checks the limit of a window operator, and refuses it where windows have no order of their own."""
    limit = spec.max_windows
    if limit is None:
        return
    if not isinstance(limit, MaxWindows):
        raise SpecError(f"max_windows={limit!r}", "a limit is a MaxWindows", "give MaxWindows(100)")
    window = spec.window
    merges = merging(window) or isinstance(window, Sliding)
    of_rows = "a key stores a fixed number of windows of rows, those that are not complete (semantics 14)"
    broken = (
        (counted(window), of_rows),
        (merges, "the rows of a key make these windows, and later rows change them (semantics 15.27)"),
        (isinstance(window, Global), "each key has one window"),
        (has_key_watermarks(spec.watermark), "the watermark of a key expires its windows (semantics 15.27)"),
    )
    for is_broken, rule in broken:
        refuse_fields(spec, {"max_windows": (is_broken, rule)}, before=f"{window!r}, ")
