"""The state of cogroups: clocks and marks of both sides, and the state of the windows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from panewise.engine.join.state import SidesState
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windows.state import WindowState
from panewise.state.manifest import check_fields

WINDOWS: Final = "windows"  # the field of the header that has the header of the windows


@dataclass(frozen=True, kw_only=True)
class CogroupState(SidesState):
    """Everything that a cogroup stores between steps.

    Attributes:
        windows: the state of the windows.
    """

    windows: WindowState

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The tables of the windows."""
        return self.windows.tables

    @property
    def copies(self) -> frozenset[str]:
        """The tables of the windows that are copies."""
        return self.windows.copies

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with these tables in place of its own."""
        return replace(self, windows=self.windows.with_tables(tables))


def header_of_windows(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the header of the windows; `{}` is that of no commit.

    Raises:
        StateError: if a header of a commit has none.
    """
    if not header:
        return {}
    known = {WINDOWS: header[WINDOWS]} if WINDOWS in header else {}
    check_fields("a header", known, {WINDOWS: _is_header}, required=(WINDOWS,))
    found: Mapping[str, Any] = header[WINDOWS]
    return found


def _is_header(value: Any) -> bool:
    return isinstance(value, dict) and len(value) > 0
