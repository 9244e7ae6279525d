"""Types of columns under their Spark names, for the type checks of specifications in every runtime."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from panewise.errors import SpecError

_WORD = re.compile(r"[a-z_]+")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_INTEGERS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_FLOATS: Final = frozenset({"float", "double"})
_NESTED: Final = frozenset({"array", "struct", "map", "variant", "geometry", "geography"})
_COLLATED = re.compile(r"\bcollate \w+")
_REMEDY: Final = (
    "before the operator add a column that has equal bytes for equal strings, such as "
    "SF.lower({name!r}).cast('string') for UTF8_LCASE, or SF.col({name!r}).cast('string') to compare bytes"
)


@dataclass(frozen=True)
class Type:
    """The type of a column.

    Args:
        name: the name as Spark writes it, such as "bigint", "decimal(10,2)", "array<string>", "timestamp" or
            "interval day to second".

    >>> Type("decimal(10,2)").is_numeric, Type("array<bigint>").is_nested, Type("timestamp_ntz").is_timestamp
    (True, True, True)
    """

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> str:
        """The name without its parameters: "decimal" for decimal(10,2), "array" for array<string>."""
        word = _WORD.match(self.name)
        return word[0] if word else self.name

    @property
    def is_integer(self) -> bool:
        """Whether the values are whole numbers."""
        return self.kind in _INTEGERS

    @property
    def is_float(self) -> bool:
        """Whether the values are floating-point numbers."""
        return self.kind in _FLOATS

    @property
    def is_numeric(self) -> bool:
        """Whether the values are whole numbers, floating-point numbers or decimals."""
        return self.is_integer or self.is_float or self.kind == "decimal"

    @property
    def is_timestamp(self) -> bool:
        """Whether the values are timestamps, with or without a time zone."""
        return self.kind in ("timestamp", "timestamp_ntz")

    @property
    def is_duration(self) -> bool:
        """Whether the values are intervals of an exact length, without years and months."""
        return self.kind == "interval" and "year" not in self.name and "month" not in self.name

    @property
    def is_nested(self) -> bool:
        """Whether the values are lists, structs, maps, variants or geometries.

        Such values cannot be keys or be ranked.
        """
        return self.kind in _NESTED

    @property
    def is_collated(self) -> bool:
        """Whether the values are, or contain, strings that a collation compares, and not their bytes.

        >>> Type("array<string collate UTF8_LCASE>").is_collated, Type("string").is_collated
        (True, False)
        """
        return _COLLATED.search(self.name) is not None

    @property
    def digits(self) -> tuple[int, int]:
        """Precision and scale of a decimal; (38, 0) if the name has none.

        >>> Type("decimal(10,2)").digits
        (10, 2)
        """
        numbers = _DECIMAL.fullmatch(self.name)
        return (int(numbers[1]), int(numbers[2])) if numbers else (38, 0)


BIGINT: Final = Type("bigint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BOOLEAN: Final = Type("boolean")


def decimal(precision: int, scale: int) -> Type:
    """Returns the type of decimals with this precision and scale, each limited to 38.

    >>> decimal(48, 2)
    Type(name='decimal(38,2)')
    """
    return Type(f"decimal({min(38, precision)},{min(38, scale)})")


def check_bytes(what: str, names: Iterable[str], types: Mapping[str, Type]) -> None:
    """Checks that no column whose values are compared has strings with a collation.

    Args:
        what: what compares the values, such as "key".
        names: the columns. Those of unknown type are not checked.
        types: the types that are known, by name.

    >>> check_bytes("key", ["k"], {"k": Type("string collate UTF8_LCASE")})
    Traceback (most recent call last):
    panewise.errors.SpecError: key k: string collate UTF8_LCASE | strings are compared by their bytes, so a
    collation would have no effect (semantics 24.21) | before the operator add a column that has equal bytes
    for equal strings, such as SF.lower('k').cast('string') for UTF8_LCASE, or SF.col('k').cast('string') to
    compare bytes [PW-SPEC-009]
    """
    rule = "strings are compared by their bytes, so a collation would have no effect (semantics 24.21)"
    for name in names:
        if name in types and types[name].is_collated:
            raise SpecError(f"{what} {name}: {types[name]}", rule, _REMEDY.format(name=name))
