"""The state of windows over a join: the states of both operators."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.state import JoinState
from panewise.engine.protocol import OperatorState
from panewise.engine.store.stored_table import StoredTable
from panewise.state.manifest import check_fields

THEN: Final = "then"  # the field of the header that has the header of the windows
_OF_JOIN: Final = "join: "  # begins the names of the tables of the join


@dataclass(frozen=True)
class BothClocks:
    """The clocks of both operators. The runtimes read those of the join."""

    join: JoinClocks
    windows: Any

    @property
    def processing_time(self) -> int:
        """The processing time."""
        return self.join.processing_time

    @property
    def finished(self) -> bool:
        """Whether the inputs of both sides have ended."""
        return self.join.finished

    @property
    def instant_watermark(self) -> int | None:
        """The lower watermark of both sides."""
        return self.join.instant_watermark


@dataclass(frozen=True)
class WindowedJoinState:
    """The states of the join and of the windows. The tables of the windows come first."""

    join: JoinState
    windows: OperatorState

    @property
    def clocks(self) -> BothClocks:
        """The clocks."""
        return BothClocks(self.join.clocks, self.windows.clocks)

    def has_ended(self, port: str) -> bool:
        """Returns whether the input of a side of the join has ended."""
        return self.join.has_ended(port)

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The tables of the windows, then those of the join."""
        return both_tables(self.windows.tables, self.join.tables)

    @property
    def copies(self) -> frozenset[str]:
        """The tables of the windows that are copies."""
        return self.windows.copies

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with these tables in place of its own."""
        mine = {name: tables[_OF_JOIN + name] for name in self.join.tables}
        of_windows = {name: tables[name] for name in self.windows.tables}
        return replace(self, join=self.join.with_tables(mine), windows=self.windows.with_tables(of_windows))


def both_tables(windows: Mapping[str, Any], join: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what belongs to the tables of both operators, by the names of the tables.

    >>> both_tables({"windows": 1}, {"left": 2})
    {'windows': 1, 'join: left': 2}
    """
    return {**windows, **{_OF_JOIN + name: value for name, value in join.items()}}


def header_of_windows(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the header of the windows; `{}` is that of no commit.

    Raises:
        StateError: if a header of a commit has none.
    """
    if not header:
        return {}
    known = {THEN: header[THEN]} if THEN in header else {}
    check_fields("a header", known, {THEN: _is_header}, required=(THEN,))
    after: Mapping[str, Any] = header[THEN]
    return after


def _is_header(value: Any) -> bool:
    return isinstance(value, dict) and len(value) > 0
