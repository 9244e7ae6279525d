"""The types of Spark that cannot pass through an operator: each is refused by name (semantics 35.5).

Data reaches the operators in Arrow, and they compute with Polars. So a type passes through if Spark, Arrow
and Polars have it. Those in the table of this module do not. Nested types pass through if their parts do, and
user-defined types and geometries as the lists and structs that contain their values.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructField, StructType, UserDefinedType

from panewise.errors import SpecError

_NO_ARROW: Final = "Spark has no way to pass such values to Python"
_CHARS: Final = (
    "Spark takes no such values from Python",
    "drop it, or cast it: df.withColumn({0!r}, SF.col({0!r}).cast('string'))",
)
# By the name of the class, as not every version of PySpark has all of them.
_REFUSED: Final = {
    "VariantType": ("variants cannot pass through the operator", "drop {0}, or turn it into a string"),
    "YearMonthIntervalType": (_NO_ARROW, "drop {0}, or turn it into a number of months"),
    "CalendarIntervalType": (_NO_ARROW, "drop {0}, or turn it into a string or an INTERVAL DAY TO SECOND"),
    "CharType": _CHARS,
    "VarcharType": _CHARS,
}


def check_names_and_types(fields: Iterable[StructField]) -> None:
    """Checks that columns can pass through an operator."""
    columns = list(fields)
    _check_names("column", [field.name for field in columns])
    for field in columns:
        for part in parts_of(field.dataType):
            _check(field, part)


def _check(field: StructField, part: DataType) -> None:
    fault = f"column {field.name}: {field.dataType.simpleString()}"
    if type(part).__name__ in _REFUSED:
        rule, remedy = _REFUSED[type(part).__name__]
        raise SpecError(fault, rule, remedy.format(field.name))
    if isinstance(part, StructType):
        _check_names(f"in {fault}: field", part.names)
    if _is_empty(part):
        rule = "a list or map without a type of its elements has none in Arrow"
        raise SpecError(fault, rule, f"drop {field.name}, or cast it: SF.array().cast('array<string>')")


def _check_names(what: str, names: list[str]) -> None:
    for name, number in Counter(names).items():
        if number > 1:
            rule = "the columns of an input, and the fields of a struct, have different names"
            raise SpecError(
                f"{what} {name!r} {number} times", rule, "rename all of them but one, or drop them"
            )


def parts_of(dtype: DataType) -> Iterator[DataType]:
    """Yields a type and all types inside it."""
    yield dtype
    for part in inner_types(dtype):
        yield from parts_of(part)


def inner_types(dtype: DataType) -> list[DataType]:
    """Returns the types directly inside a type; of a user-defined type that of its values."""
    match dtype:
        case ArrayType():
            return [dtype.elementType]
        case MapType():
            return [dtype.keyType, dtype.valueType]
        case StructType():
            return [field.dataType for field in dtype.fields]
        case UserDefinedType():
            return [dtype.sqlType()]
    return []


def _is_empty(dtype: DataType) -> bool:
    """Returns whether a type has values that are null and cannot be null: elements that never exist."""
    match dtype:
        case ArrayType():
            never = [dtype.elementType] if not dtype.containsNull else []
        case MapType():
            never = [dtype.keyType, *([] if dtype.valueContainsNull else [dtype.valueType])]
        case StructType():
            never = [field.dataType for field in dtype.fields if not field.nullable]
        case _:
            never = []
    return any(isinstance(part, NullType) for part in never)


def simple_text(dtype: DataType) -> str:
    """Returns Spark's name of a type; of a user-defined type that of its values."""
    return (dtype.sqlType() if isinstance(dtype, UserDefinedType) else dtype).simpleString()
