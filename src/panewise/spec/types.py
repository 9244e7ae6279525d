"""Types of columns, by the names that Spark gives them: what checks of a specification go by, in every runtime."""

import re
from dataclasses import dataclass
from typing import Final

_WORD = re.compile(r"[a-z_]+")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_INTEGERS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_FLOATS: Final = frozenset({"float", "double"})
_NESTED: Final = frozenset({"array", "struct", "map", "variant"})


@dataclass(frozen=True)
class Type:
    """The type of a column.

    Args:
        name: as Spark writes it: "bigint", "decimal(10,2)", "array<string>", "timestamp", "interval day to second".

    >>> Type("decimal(10,2)").is_numeric, Type("array<bigint>").is_nested, Type("timestamp_ntz").is_timestamp
    (True, True, True)
    """

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> str:
        """The name without what follows it: "decimal" of decimal(10,2), "array" of array<string>."""
        found = _WORD.match(self.name)
        return found[0] if found else self.name

    @property
    def is_integer(self) -> bool:
        """Whole numbers."""
        return self.kind in _INTEGERS

    @property
    def is_float(self) -> bool:
        """Floating-point numbers."""
        return self.kind in _FLOATS

    @property
    def is_numeric(self) -> bool:
        """Whole numbers, floating-point numbers and decimals."""
        return self.is_integer or self.is_float or self.kind == "decimal"

    @property
    def is_timestamp(self) -> bool:
        """Timestamps, with a time zone or without one."""
        return self.kind in ("timestamp", "timestamp_ntz")

    @property
    def is_duration(self) -> bool:
        """Intervals of an exact length."""
        return self.kind == "interval" and "year" not in self.name and "month" not in self.name

    @property
    def is_nested(self) -> bool:
        """Lists, structs and maps: values without an order."""
        return self.kind in _NESTED

    @property
    def digits(self) -> tuple[int, int]:
        """Precision and scale of a decimal.

        >>> Type("decimal(10,2)").digits
        (10, 2)
        """
        found = _DECIMAL.fullmatch(self.name)
        return (int(found[1]), int(found[2])) if found else (38, 0)


BIGINT: Final = Type("bigint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BOOLEAN: Final = Type("boolean")


def decimal(precision: int, scale: int) -> Type:
    """The decimal of so many digits, 38 at most.

    >>> decimal(48, 2)
    Type(name='decimal(38,2)')
    """
    return Type(f"decimal({min(38, precision)},{min(38, scale)})")
