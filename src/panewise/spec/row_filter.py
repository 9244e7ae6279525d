"""Which emitted rows of an operator a query writes, and how that may change (semantics 47.22).

A text of SQL selects rows after its last operator: by HAVING, QUALIFY, WHERE of a query over it, and the
limit of a Top-N. The specification says nothing about that. So the record of a checkpoint does.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from panewise.errors import StateError
from panewise.spec.codec import to_dict
from panewise.spec.codec.same_aggregates import definition
from panewise.spec.evolution import NEW_CHECKPOINT, Continuation

_INSERTIONS: Final = "op = '+'"  # the condition of ISTREAM: no retraction is written
_CONDITIONS, _UNNESTED, _COLUMNS = "conditions", "unnested", "columns"  # the fields of the record


@dataclass(frozen=True)
class RowCondition:
    """A condition over emitted rows.

    Attributes:
        text: the condition over the columns of the operator.
        parts: the same in normal form, cut where a column stands.
        columns: these columns, in lower case.
        null_safe: those of them for which the condition says what null means.
    """

    text: str
    parts: tuple[str, ...]
    columns: tuple[str, ...] = ()
    null_safe: frozenset[str] = frozenset()

    def meaning(self, definitions: Mapping[str, str]) -> str:
        """Returns the normal form, in which the definitions of columns stand for their names."""
        names = [definitions.get(column, column) for column in self.columns]
        return "".join(part + name for part, name in zip(self.parts, [*names, ""], strict=True))


@dataclass(frozen=True)
class RowFilter:
    """Which emitted rows of an operator a query writes.

    Attributes:
        conditions: all of them are true for a row that is written.
        unnested: the lists of a Top-N that become rows, in lower case.
        selected: the expressions over emitted rows after a SELECT list, by their lower-case names.
        tables: names that may stand before columns, in lower case.
    """

    conditions: tuple[RowCondition, ...] = ()
    unnested: tuple[str, ...] = ()
    selected: Mapping[str, str] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()

    def record(self, spec: Any, columns: Collection[str]) -> dict[str, Any]:
        """Returns what the record of a checkpoint has of it. `columns` are those of the emitted rows."""
        definitions = dict(_definitions(to_dict(spec)))
        return {
            _CONDITIONS: self._meanings(definitions),
            _UNNESTED: [definitions.get(name, name) for name in self.unnested],
            _COLUMNS: sorted(definitions.get(name.lower(), name.lower()) for name in columns),
        }

    def _meanings(self, definitions: Mapping[str, str]) -> dict[str, str]:
        return {condition.meaning(definitions): condition.text for condition in self.conditions}

    def check(self, before: Mapping[str, Any] | None, change: Continuation, columns: Collection[str]) -> None:
        """Checks that no row is lost if a state is continued with this filter.

        Args:
            before: what the record has of the filter with which the state was made; None if it is one of an
                earlier release, and empty if the state comes from a file that has none.
            change: how the state is continued.
            columns: the columns of the emitted rows.

        Raises:
            StateError: if rows would be missing or stay without a retraction (semantics 47.23, 47.24).
        """
        old, new = to_dict(change.before), to_dict(change.spec)
        definitions = dict(_definitions(new))
        nulls = _Nulls(before, old, new, definitions, columns)
        for condition in self.conditions:
            known = (before or {}).get(_CONDITIONS, {})
            lost = nulls.among(condition.columns, known=condition.meaning(definitions) in known)
            if lost - condition.null_safe:
                raise _null_in_condition(condition, sorted(lost - condition.null_safe))
        recorded = [definitions.get(name, name) for name in self.unnested]
        lost = nulls.among(self.unnested, known=recorded == (before or {}).get(_UNNESTED))
        if lost:
            raise _null_in_top_n(sorted(lost))
        if before and _retracts(old) and _retracts(new):
            _check_same(before[_CONDITIONS], self._meanings(definitions))


EVERY_ROW: Final = RowFilter()


class _Nulls:
    """The columns of emitted rows that are null for rows which were applied before a change."""

    def __init__(
        self,
        before: Mapping[str, Any] | None,
        old: Mapping[str, Any],
        new: Mapping[str, Any],
        definitions: Mapping[str, str],
        columns: Collection[str],
    ) -> None:
        known = {name for _, name in _definitions(old)}
        self.added = {name for name in _added(new) if definitions[name] not in known}
        self.marked = self.added if before is None else {*_added(new)}
        stored = (before or {}).get(_COLUMNS)
        if stored is not None and not any(_values(new, "aggregates")):
            emitted = {name.lower() for name in columns} - {"op"}
            self.added = {name for name in emitted if not _is_stored(definitions.get(name, name), stored)}
            self.marked = self.added

    def among(self, columns: Collection[str], *, known: bool) -> set[str]:
        """Returns those of these columns that are null.

        If the filter was there before (`known`), columns that were null then do not count.
        """
        return {*columns} & (self.added if known else self.marked)


def _is_stored(column: str, stored: Collection[str]) -> bool:
    """Returns whether stored rows have a column. A join that selects nothing has all columns of its sides."""
    sides = (f"left.{column}", f"right.{column}", column.partition(".")[2])
    return column.startswith("[") or any(name in stored for name in (column, *sides))


def _values(document: Any, name: str) -> Iterator[Any]:
    """Yields the values of all fields of this name in a document."""
    if isinstance(document, Mapping):
        if name in document:
            yield document[name]
        for value in document.values():
            yield from _values(value, name)
    elif isinstance(document, list):
        for value in document:
            yield from _values(value, name)


def _definitions(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the columns that an operator computes or selects, in lower case, and what they are.

    What is computed begins with a bracket.
    """
    for field_name in ("aggregates", "columns"):
        for computed in _values(document, field_name):
            for column in computed or ():
                if isinstance(column, Mapping) and "name" in column:
                    plain = {name: value for name, value in column.items() if name != "added"}
                    yield column["name"].lower(), definition(plain)
    for selected in _values(document, "select"):
        yield from (
            (item["name"].lower(), f"{item['side']}.{item['column']}".lower()) for item in selected or ()
        )


def _added(document: Mapping[str, Any]) -> Iterator[str]:
    """Yields the aggregates that are null in panes with rows from before their change (semantics 47.3)."""
    for aggregates in _values(document, "aggregates"):
        marked = (aggregate for aggregate in aggregates or () if aggregate.get("added") == "null")
        yield from (aggregate["name"].lower() for aggregate in marked)


def _retracts(document: Mapping[str, Any]) -> bool:
    """Returns whether an operator retracts rows."""
    modes = [*_values(document, "accumulation"), *_values(document, "emit")]
    return "retracting" in modes or "early" in _values(document, "unmatched")


def changed_conditions(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Returns in words which conditions differ in what two records have of a filter; None if none do."""
    old, new = before[_CONDITIONS], now[_CONDITIONS]
    return None if old.keys() == new.keys() else _difference(old, new)


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    old = " AND ".join(text for meaning, text in before.items() if meaning not in now) or "none"
    new = " AND ".join(text for meaning, text in now.items() if meaning not in before) or "none"
    return f"{old} -> {new}"


def _check_same(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuses another condition over rows that are retracted."""
    if before.keys() == now.keys() or (_INSERTIONS in before and _INSERTIONS in now):
        return
    raise StateError(
        f"a changed condition over rows that are retracted ({_difference(before, now)})",
        "a row that the earlier condition let pass would stay, as the new one drops its retraction "
        "(semantics 47.24)",
        "put the condition back, or start from a new checkpoint and write to a new table",
    )


def _null_in_condition(condition: RowCondition, columns: list[str]) -> StateError:
    names = ", ".join(map(repr, columns))
    return StateError(
        f"the condition {condition.text} (HAVING, QUALIFY or WHERE over emitted rows) with the added {names}",
        f"{names} is null for rows from before the change, and the condition would drop these "
        "(semantics 47.23)",
        "leave the condition as it was, say what null means, as in `x IS NULL OR x > 1`, or "
        f"{NEW_CHECKPOINT}",
    )


def _null_in_top_n(columns: list[str]) -> StateError:
    return StateError(
        f"a changed Top-N (its list {', '.join(map(repr, columns))} is an added aggregate)",
        "a Top-N with another limit, order or list of columns has none of the rows of open windows "
        "(semantics 47.23)",
        f"put the Top-N back, or {NEW_CHECKPOINT}",
    )
