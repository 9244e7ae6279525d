"""The state of a nested operator: the states of its members."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

from panewise.engine.protocol import OperatorState, Readings
from panewise.engine.tables.stored_table import StoredTable
from panewise.state.manifest import check_fields

# For each table the number of its member, and its name there. Their order is that of the numbers on disk.
MemberTables: TypeAlias = Mapping[str, tuple[int, str]]


@dataclass(frozen=True)
class NestedClocks:
    """The clocks of the members. The runtimes read those of the first one, which takes the input."""

    members: tuple[Readings, ...]

    @property
    def processing_time(self) -> int:
        """The processing time."""
        return self.members[0].processing_time

    @property
    def finished(self) -> bool:
        """Whether the input has ended."""
        return self.members[0].finished

    @property
    def instant_watermark(self) -> int | None:
        """The watermark of the input."""
        return self.members[0].instant_watermark


@dataclass(frozen=True)
class NestedState:
    """The states of the members, and where their tables are."""

    members: tuple[OperatorState, ...]
    member_tables: MemberTables

    @property
    def clocks(self) -> NestedClocks:
        """The clocks."""
        return NestedClocks(tuple(member.clocks for member in self.members))

    def has_ended(self, port: str) -> bool:
        """Returns whether the input of a port has ended."""
        return self.members[0].has_ended(port)

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The tables of all members."""
        tables = [member.tables for member in self.members]
        return {name: tables[number][own] for name, (number, own) in self.member_tables.items()}

    @property
    def copies(self) -> frozenset[str]:
        """The tables that are copies in their member."""
        return frozenset(
            name for name, (number, own) in self.member_tables.items() if own in self.members[number].copies
        )

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with these tables in place of its own."""
        own: list[dict[str, StoredTable]] = [{} for _ in self.members]
        for name, (number, own_name) in self.member_tables.items():
            own[number][own_name] = tables[name]
        return replace(
            self, members=tuple(member.with_tables(of) for member, of in zip(self.members, own, strict=True))
        )


def tables_of_member(number: int, form: str, state: OperatorState) -> dict[str, tuple[int, str]]:
    """Returns the tables of a member. `form` makes their names out of those in the member."""
    return {form.format(name): (number, name) for name in state.tables}


def header_in(field: str, header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the header of a member, which a field of the header contains."""
    if not header:
        return {}
    known = {field: header[field]} if field in header else {}
    check_fields("a header", known, {field: _is_header}, required=(field,))
    inner: Mapping[str, Any] = header[field]
    return inner


def _is_header(value: Any) -> bool:
    return isinstance(value, dict) and len(value) > 0
