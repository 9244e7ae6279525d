"""The names of types in SQL: some types have several."""

import re
from difflib import get_close_matches
from typing import Final

from panewise.errors import SpecError
from panewise.spec.column_types import Type

# The names of Spark's SQL besides those that Spark writes itself.
_SYNONYMS: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
}
_TEXTS: Final = frozenset({"varchar", "char", "character"})  # strings of a limited length
# The first words of Spark's types, with those of its latest release.
_OF_SPARK: Final = frozenset(
    {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "binary", "boolean"}
    | {"date", "time", "timestamp", "timestamp_ntz", "interval", "array", "struct", "map", "variant", "void"}
    | {"geometry", "geography"}
    | _TEXTS
)


def check_type(text: str) -> None:
    """Checks that Spark has the type of a column, or of the elements of an array.

    Raises:
        SpecError: if it has not.
    """
    lower = " ".join(text.split()).lower()
    while (element := re.match(r"array ?< ?", lower)) is not None:
        lower = lower[element.end() :]
    word = re.match(r"\w+", lower)
    if word is not None and first_name(word[0]) not in _OF_SPARK:
        known = sorted({*_OF_SPARK, *_SYNONYMS})
        close = get_close_matches(word[0], known, n=1)
        rule = f"the types of columns are those of Spark: {', '.join(known).upper()}"
        raise SpecError(text, rule, f"write {close[0].upper()}" if close else "write one of these")


def first_name(name: str) -> str:
    """Returns the name that Spark writes for the name of a type, in lower case.

    >>> first_name("LONG"), first_name("double")
    ('bigint', 'double')
    """
    return _SYNONYMS.get(name.lower(), name.lower())


def type_of(text: str) -> Type:
    """Returns the type that a column has in a statement.

    >>> type_of("Decimal(10, 2)"), type_of("LONG"), type_of("ARRAY<STRUCT<a: INT>>")
    (Type(name='decimal(10,2)'), Type(name='bigint'), Type(name='array<struct<a:int>>'))
    """
    lower = re.sub(r"\s*([<>(),:])\s*", r"\1", " ".join(text.split()).lower())
    word = re.match(r"\w+", lower)
    name = first_name(word[0]) if word is not None else lower
    digits = lower[len(word[0]) :] if word is not None else ""
    if name in _TEXTS:
        return Type("string")
    return Type(f"{name}{digits or ('(10,0)' if name == 'decimal' else '')}")
