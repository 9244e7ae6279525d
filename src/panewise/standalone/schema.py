"""The columns of an operator's inputs: type names or Polars types, by port."""

from collections.abc import Mapping
from typing import Any, TypeVar

import polars as pl

from panewise.engine.columns import ROW, user_columns
from panewise.engine.kernels.column_types import NAMED, polars_type
from panewise.engine.protocol import Schemas
from panewise.errors import InputError, SpecError
from panewise.families import INPUT
from panewise.spec import Specification, parts
from panewise.spec.column_expressions import check_given
from panewise.spec.column_types import Type
from panewise.spec.column_values import ColumnType
from panewise.spec.protocol import is_specification
from panewise.spec.reserved_names import is_pattern, names_in
from panewise.standalone.value_types import column_type_of

S = TypeVar("S", bound=Specification)


def schemas_of(spec: Specification, schema: Any) -> Schemas:
    """Returns the columns of each port as Polars types."""
    if not is_specification(spec):
        rule = "an operator in process runs a specification"
        raise SpecError(f"spec={spec!r}", rule, "give one such as WindowOperator(...)")
    _check_schema(schema)
    ports = list(spec.ports)
    by_port = any(isinstance(value, Mapping) for value in schema.values())
    if not by_port and ports == [INPUT]:
        return {INPUT: _columns(schema)}
    if not by_port or set(schema) != set(ports):
        rule = f"the inputs of the operator are {ports}"
        raise InputError(f"a schema for {sorted(schema)}", rule, "give the columns of each input by its name")
    return {port: _columns(schema[port]) for port in ports}


def polars_types(schema: Any) -> dict[str, pl.DataType]:
    """Returns the columns of one input as Polars types."""
    _check_schema(schema)
    return _columns(schema)


def _check_schema(schema: Any) -> None:
    if not isinstance(schema, Mapping):
        raise InputError(f"schema={schema!r}", "a schema has a type for each column", "give {'v': 'bigint'}")


def _columns(types: Mapping[str, Any]) -> dict[str, pl.DataType]:
    if not types:
        raise InputError("a schema without columns", "a schema has a type for each column", "add a column")
    return {name: dtype_of(name, kind) for name, kind in types.items()}


def dtype_of(name: str, kind: Any) -> pl.DataType:
    """Returns the Polars type that a type name or a Polars type means.

    >>> dtype_of("m", "map<string,bigint>")
    List(Struct({'key': String, 'value': Int64}))

    Raises:
        InputError: if it is neither.
    """
    if isinstance(kind, str):
        try:
            return polars_type(ColumnType.parse(kind))
        except InputError as error:
            raise _unknown(name, kind) from error
    dtype = kind() if isinstance(kind, type) and issubclass(kind, pl.DataType) else kind
    if not isinstance(dtype, pl.DataType):
        raise _unknown(name, kind)
    check_no_objects(name, dtype)
    return dtype


def check_no_objects(name: str, dtype: pl.DataType) -> None:
    """Refuses a column of any objects of Python."""
    if dtype == pl.Object():
        rule = "an operator reads values of a type, and no other objects of Python"
        raise InputError(f"type Object of {name!r}", rule, "leave the column out, or encode it to bytes")


def _unknown(name: str, kind: Any) -> InputError:
    nested = ["decimal(p,s)", "array<...>", "struct<name:...>", "map<...,...>"]
    rule = f"a type is one of {[*NAMED, *nested]}, or a type of Polars"
    return InputError(f"type {kind!r} of {name!r}", rule, "give one of these")


def for_schemas(spec: S, schemas: Schemas) -> S:
    """Returns the specification for inputs with these columns, after checking their types."""
    fitted: S = parts(spec).for_columns(spec, {port: set(columns) for port, columns in schemas.items()})
    typed = {
        port: {name: Type(str(column_type_of(dtype))) for name, dtype in user_columns(columns).items()}
        for port, columns in schemas.items()
    }
    _check_columns(fitted, schemas)
    parts(fitted).check_types(fitted, typed)
    return fitted


def _check_columns(spec: Specification, schemas: Schemas) -> None:
    for port, entry in spec.ports.items():
        # The number that a caller gives to a row stays with the row.
        numbered = schemas[port].get(ROW) == pl.Int64()
        flags = [name for name in schemas[port] if name.startswith("__") and not (numbered and name == ROW)]
        if flags:
            rule = "names that start with '__' are the operator's own"
            raise SpecError(f"column {flags[0]!r}", rule, "rename the column")
        patterns = [name for name in (*schemas[port], *names_in(spec)) if is_pattern(name)]
        if patterns:
            rule = "in process '*' and names from '^' to '$' are patterns of Polars (semantics 15.30)"
            raise SpecError(f"column {patterns[0]!r}", rule, "rename the column")
        for name in entry.columns_read:
            if name not in schemas[port]:
                check_given(name)
                rule = "the columns that an operator reads are in its schema"
                raise SpecError(f"column {name!r}", rule, f"use one of the columns {sorted(schemas[port])}")
