"""Hypothesis strategies of column types, of lists, structs and maps too, and of values of such a type."""

from datetime import date
from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from panewise.spec.column_values import ColumnType
from panewise.testing.samples import VALUES

__all__ = ["column_types", "values_of"]

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


def values_of(text: str) -> st.SearchStrategy[Any]:
    """Returns a strategy of values of a type: nulls on every level, and empty lists and maps.

    Raises:
        InputError: if the type is unknown.
    """
    return st.one_of(st.none(), _known(ColumnType.of(text)))


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
