"""Hypothesis strategies of column types, of lists, structs and maps too, and of values of such a type."""

from datetime import date
from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from panewise.spec.column_values import MISFIT, ColumnType
from panewise.testing.samples import COLUMN_TYPES, MISFITS, VALUES

__all__ = ["column_types", "has_samples", "misfits", "values_of"]

_SIMPLE: Final = (
    "bigint",
    "double",
    "string",
    "boolean",
    "decimal(10,2)",
    "date",
    "timestamp",
    "binary",
    "timestamp_ntz",
    "int",
    "smallint",
    "tinyint",
    "float",
)
_MORE: Final[dict[str, list[Any]]] = {
    **VALUES,
    "date": [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)],
    "timestamp": [0, -1, 1, 1_700_000_000_000_000, 2**62],
    "timestamp_ntz": [0, -1, 1, 1_700_000_000_000_000, 2**62],
    "binary": [b"", b"\x00", b"a\xff"],
    "int": [0, 1, -(2**31), 2**31 - 1],
    "smallint": [0, 1, -(2**15), 2**15 - 1],
    "tinyint": [0, 1, -128, 127],
    "float": [0.0, -0.0, 1.5, float("nan"), float("-inf"), 3.4028234663852886e38],
}
_ODD: Final = ("x", True, 1.5, 2**70, Decimal("0.001"), b"x", object)  # the last one fits no type


def column_types(depth: int = 3) -> st.SearchStrategy[str]:
    """Returns a strategy of types, of which those of lists, structs and maps are up to `depth` levels deep.

    The keys of maps are of simple types.
    """
    simple = st.sampled_from(_SIMPLE)
    if depth < 2:
        return simple
    inner = column_types(depth - 1)
    structs = st.lists(inner, min_size=1, max_size=3).map(
        lambda parts: ",".join(f"{name}:{part}" for name, part in zip("abc", parts, strict=False))
    )
    return st.one_of(
        simple,
        inner.map(lambda part: f"array<{part}>"),
        structs.map(lambda fields: f"struct<{fields}>"),
        st.tuples(simple, inner).map(lambda pair: f"map<{pair[0]},{pair[1]}>"),
    )


def values_of(text: str, *, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Returns a strategy of values of a type: nulls on every level, and empty lists and maps.

    Args:
        text: the type.
        nulls: whether a value itself may be null.

    Raises:
        InputError: if the type is unknown.
    """
    known = _known(ColumnType.parse(text))
    return st.one_of(st.none(), known) if nulls else known


def misfits(text: str) -> list[Any]:
    """Returns values that do not fit a type: those of the samples if they have the type.

    >>> misfits("boolean"), misfits("date")[0]
    ([1, 'true'], 'x')
    """
    if has_samples(text):
        return MISFITS[text.split("(", maxsplit=1)[0]]
    kind = ColumnType.parse(text)
    return [value for value in _ODD if kind.fit(value) is MISFIT]


def has_samples(text: str) -> bool:
    """Returns whether a type is that of a column of the samples.

    >>> [has_samples(text) for text in ("bigint", "decimal(10,2)", "decimal(4,1)", "date")]
    [True, True, False, False]
    """
    return text in COLUMN_TYPES.values()


def _known(kind: ColumnType) -> st.SearchStrategy[Any]:
    """Returns a strategy of values of a type without null itself. Some structs lack a field."""
    parts = {name: st.one_of(st.none(), _known(part)) for name, part in kind.fields}
    match kind.name:
        case "array":
            return st.lists(parts["element"], max_size=3)
        case "struct":
            return st.fixed_dictionaries({}, optional=parts) | st.fixed_dictionaries(parts)
        case "map":
            [(_, key), _] = kind.fields
            return st.dictionaries(_known(key), parts["value"], max_size=3)
        case "decimal" if kind != ColumnType("decimal", 10, 2):
            unscaled = st.integers(-(10**kind.precision) + 1, 10**kind.precision - 1)
            return unscaled.map(lambda number: Decimal(number).scaleb(-kind.scale))
    return st.sampled_from(_MORE[kind.name])
