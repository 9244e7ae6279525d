"""Types of columns under their Spark names, for the type checks of specifications in every runtime."""

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
        found = _WORD.match(self.name)
        return found[0] if found else self.name

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
        """Whether the values are lists, structs, maps or variants, which cannot be keys or be ranked."""
        return self.kind in _NESTED

    @property
    def digits(self) -> tuple[int, int]:
        """Precision and scale of a decimal; (38, 0) if the name has none.

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
    """Returns the type of decimals with this precision and scale, each limited to 38.

    >>> decimal(48, 2)
    Type(name='decimal(38,2)')
    """
    return Type(f"decimal({min(38, precision)},{min(38, scale)})")
