"""Hypothesis strategies of conditions, and of the pairs of rows that they compare.

Both sides have the columns of `COLUMNS`. Values come from small pools in which the edges are: nulls, NaN,
-0.0, numbers that only differ as whole numbers or only as doubles, and numbers next to the ends of 64 bits.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from panewise.errors import SpecError
from panewise.spec.column_types import Type
from panewise.spec.conditions import (
    SIDES,
    And,
    Arithmetic,
    Between,
    Column,
    Comparison,
    In,
    IsNull,
    Node,
    Not,
    Or,
    as_condition,
    check_condition,
    columns_of_side,
)
from panewise.spec.conditions.literals import literal_of
from panewise.spec.conditions.nodes import ARITHMETIC, COMPARISONS

Pair: TypeAlias = tuple[dict[str, Any], dict[str, Any]]

_LONG: Final = 2**63
_INSTANT: Final = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)  # microsecond -1

# The columns of each side, with the type of each. Rows have timestamps as microseconds.
COLUMNS: Final = {
    "n": "bigint",
    "m": "bigint",
    "i": "int",
    "x": "double",
    "y": "double",
    "s": "string",
    "o": "boolean",
    "d": "decimal(10,2)",
    "e": "decimal(38,37)",
    "f": "decimal(38,0)",
    "t": "timestamp",
    "u": "timestamp",
    "w": "date",
}


def _decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


_POOLS: Final[dict[str, Sequence[Any]]] = {
    "bigint": (0, 1, -1, 2, 3, 2**53, 2**53 + 1, 2**62, 3037000500, -(2**62), _LONG - 1, -_LONG),
    "int": (0, 1, -2, 2**31 - 1, -(2**31)),
    "double": (
        *(0.0, -0.0, 1.0, -1.5, 2.0, 0.1, 0.01, 2.0**53, 2.0**63, 1e308),
        *(float("inf"), float("-inf"), float("nan"), float("nan")),
    ),
    "string": ("", "a", "b", "ab", "B", "é", "\uffff", "\U0001f600"),
    "boolean": (True, False),
    "decimal(10,2)": _decimals("0.00", "1.00", "-1.50", "0.01", "0.10", "99999999.99", "-99999999.99"),
    "decimal(38,37)": _decimals(
        "0", "1", "-1.5", "0.01", "9." + "9" * 37, "-9." + "9" * 37, "0." + "0" * 36 + "1"
    ),
    "decimal(38,0)": _decimals(
        "0", "1", "-2", "9" * 38, "-" + "9" * 38, "9007199254740993", "9223372036854775808"
    ),
    "timestamp": (-1, 0, 1, 1_700_000_000_000_000, -_LONG, _LONG - 1),
    "date": (date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)),
}
_WHOLE: Final = (0, 1, -1, 2, 2**53 + 1, _LONG - 1, -_LONG)
_DECIMAL: Final = _decimals("1.00", "0.01", "0." + "0" * 36 + "1", "9" * 38)
_LITERALS: Final[dict[str, Sequence[Any]]] = {
    "number": (*_WHOLE, 0.0, 1.5, 0.1, float("nan"), float("-inf"), *_DECIMAL),
    "decimal": _DECIMAL,
    "bigint": _WHOLE,
    "string": ("", "a", "\uffff", "it's"),
    "boolean": (True, False),
    "timestamp": (_INSTANT, datetime(1970, 1, 1, tzinfo=UTC), datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
    "date": (date(1970, 1, 1), date(2024, 2, 29)),
}
_GROUPS: Final = {
    "number": ("n", "m", "i", "x", "y", "d", "e", "f"),
    "decimal": ("d", "e", "f", "n"),
    "bigint": ("n", "m"),
    "string": ("s",),
    "boolean": ("o",),
    "timestamp": ("t", "u"),
    "date": ("w",),
}
TYPES: Final = {name: Type(kind) for name, kind in COLUMNS.items()}


def pairs(condition: Node) -> st.SearchStrategy[Pair]:
    """Draws a pair of rows for a condition: the left and the right one.

    Any value may be null. The columns that the condition does not read are null.
    """
    return st.tuples(*(_rows(columns_of_side(condition, side)) for side in SIDES))


def _rows(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: _CELLS[name] for name in names}).map(lambda row: _NULLS | row)


def conditions() -> st.SearchStrategy[Node]:
    """Draws a condition over the columns of both sides that passes all checks."""
    return _CONDITIONS.filter(_is_valid)


def _is_valid(condition: Node) -> bool:
    """Returns whether a condition reads a column, and its decimals do not need more than 38 digits."""
    try:
        check_condition(as_condition(condition), TYPES, TYPES)
    except SpecError:
        return False
    return True


def _combined(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        *[several.map(And), several.map(Or)] * 3,
        st.builds(Comparison, _COMPARISONS, inner, inner),
        inner.map(Not) | inner.map(IsNull),
    )


def _tests(group: str) -> st.SearchStrategy[Node]:
    """Draws a comparison of values of one group, or a test of one value."""
    column, literal = _columns(group), _literals(group)
    plain = column | literal
    value = plain
    if group in ("number", "bigint"):
        value |= st.builds(
            Arithmetic, _ARITHMETIC, plain, plain | st.builds(Arithmetic, _ARITHMETIC, plain, plain)
        )
    options = st.lists(literal, min_size=1, max_size=4) | st.lists(value, min_size=1, max_size=4)
    return st.one_of(
        *[st.builds(Comparison, _COMPARISONS, column, column)] * 2,
        *[st.builds(Comparison, _COMPARISONS, value, value)] * 2,
        st.builds(Between, value, value, value),
        st.builds(In, value, options.map(tuple)),
        st.builds(IsNull, value),
        *([column] if group == "boolean" else []),
    )


def _columns(group: str) -> st.SearchStrategy[Node]:
    return st.sampled_from([Column(side, name) for name in _GROUPS[group] for side in SIDES])


def _literals(group: str) -> st.SearchStrategy[Node]:
    return st.sampled_from([literal_of(value) for value in _LITERALS[group]])


_COMPARISONS: Final = st.sampled_from(COMPARISONS)
_ARITHMETIC: Final = st.sampled_from(ARITHMETIC)
_NULLS: Final = dict.fromkeys(COLUMNS)
_CELLS: Final = {name: st.sampled_from((*_POOLS[kind], None, None)) for name, kind in COLUMNS.items()}
# Numbers have the most rules, so they are drawn most often.
_LEAVES: Final = st.one_of(*map(_tests, (*_GROUPS, "number", "decimal", "bigint")))
_CONDITIONS: Final = st.recursive(_LEAVES, _combined, max_leaves=4)
