"""The columns that an operator reads, with their types, which a record has (semantics 47.21, 47.26).

The columns of a stored state are fixed, and the worker that loads a state checks them. That would be too late
for a changed specification, which `write` has recorded by then, and for a micro-batch, which has begun. So
`write` checks the columns before.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from pyspark.sql.types import StructType

from panewise.engine.checkpoint import types_of_tables
from panewise.engine.evolution import other_types
from panewise.engine.protocol import Schemas
from panewise.engine.registry import operator_for
from panewise.errors import SpecError, StateError
from panewise.spark.columns.types import polars_schema
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spec import Specification
from panewise.spec.codec import from_dict, to_dict

_COLUMNS: Final = "columns"  # the field of the record that has the columns that the operator reads, by port

Inputs: TypeAlias = Mapping[str, StructType]


def recorded_types(dataflow: Dataflow) -> dict[str, Any]:
    """Returns the field of the record with the columns that an operator reads."""
    columns = dataflow.inputs(all_columns=False)
    return {_COLUMNS: {port: schema.jsonValue() for port, schema in columns.items()}}


def check_stored_types(
    known: Mapping[str, Any], spec: Mapping[str, Any], dataflow: Dataflow, has_state: Callable[[], bool]
) -> None:
    """Refuses columns by which a stored state would get other types, or would lack a column.

    `known` has what the record says of the operator, and `spec` is the specification of the state. Records of
    earlier releases have no columns.

    Raises:
        StateError: if there are such columns; it names them, and types that changed.
    """
    before, now = _recorded(known), dataflow.inputs(all_columns=False)
    changed = [*_changed(before, now)]
    if (changed or before and _names(before) != _names(now)) and has_state():
        kinds = [
            f"{name}: {_kind(before, port, name)}, now {_kind(now, port, name)}"
            for port, name in changed
            if _changes_state(spec, before, dataflow, port, name)
        ]
        if kinds:
            raise other_types(f"columns of other types ({'; '.join(sorted(kinds))})")
        _check_stored_columns(spec, before, dataflow)


def check_spelling(
    known: Mapping[str, Any], dataflow: Dataflow, same: Callable[[str], str], has_state: Callable[[], bool]
) -> None:
    """Refuses another spelling of a column that the state has.

    The operator would take it for another column, and an aggregate of it for one that was added. `same`
    returns equal texts for the names that Spark takes for one.

    Raises:
        StateError: if there is one; it has both spellings.
    """
    before, now = _recorded(known), dataflow.inputs(all_columns=False)
    for port in before.keys() & now.keys():
        others = {same(name): name for name in before[port].names if name not in now[port].names}
        for name in now[port].names:
            old = others.get(same(name), name)
            if old != name and name not in before[port].names and has_state():
                rule = "a state has one spelling of each name, although Spark ignores case (semantics 47.26)"
                raise StateError(f"column {name!r}, which was {old!r}", rule, f"write {old!r}")


def _recorded(known: Mapping[str, Any]) -> dict[str, StructType]:
    return {port: StructType.fromJson(schema) for port, schema in known.get(_COLUMNS, {}).items()}


def _names(inputs: Inputs) -> dict[str, list[str]]:
    return {port: schema.names for port, schema in inputs.items()}


def _check_stored_columns(spec: Mapping[str, Any], before: Inputs, dataflow: Dataflow) -> None:
    """Refuses an input that lacks stored columns, if the specification is that of the state.

    With another one the worker decides, which may convert what is stored.
    """
    if to_dict(dataflow.spec) != spec:
        return
    stored = _types(dataflow.spec, {port: polars_schema(schema) for port, schema in before.items()})
    here = _types(dataflow.spec, dataflow.schemas(all_columns=False))
    if any(here.get(name) != dtype for name, dtype in stored.items()):
        raise other_types(f"other columns than those of the state ({_difference(before, dataflow)})")


def _difference(before: Inputs, dataflow: Dataflow) -> str:
    """Returns which columns are missing and which are new, in words."""
    then, now = (
        {name for names in _names(inputs).values() for name in names}
        for inputs in (before, dataflow.inputs(all_columns=False))
    )
    sets = {"missing": then - now, "new": now - then}
    words = [f"{what}: {', '.join(sorted(names))}" for what, names in sets.items() if names]
    return "; ".join(words) or "in another order"


def _kind(inputs: Inputs, port: str, name: str) -> str:
    return inputs[port][name].dataType.simpleString()


def _changed(before: Inputs, now: Inputs) -> Iterator[tuple[str, str]]:
    """Yields the columns that have changed their type, with their ports."""
    for port in before.keys() & now.keys():
        types = {field.name: field.dataType for field in now[port]}
        yield from (
            (port, field.name)
            for field in before[port]
            if types.get(field.name, field.dataType) != field.dataType
        )


def _changes_state(spec: Mapping[str, Any], before: Inputs, dataflow: Dataflow, port: str, name: str) -> bool:
    """Returns whether a stored column gets another type because this column of the input has.

    If the operator cannot read the column with its old type, nothing is compared: all that it stores of the
    column is new.
    """
    old = {other: polars_schema(schema) for other, schema in before.items()}
    now = dataflow.schemas(all_columns=False)
    restored = {**now, port: {**now[port], name: old[port][name]}}
    with suppress(SpecError):
        stored, same = _types(from_dict(spec), old), _types(dataflow.spec, restored)
        here = _types(dataflow.spec, now)
        # Types that a changed specification changes are the same with the old type of the column.
        return any(column in stored and same.get(column) != dtype for column, dtype in here.items())
    return False


def _types(spec: Specification, schemas: Schemas) -> dict[str, str]:
    return types_of_tables(operator_for(spec, schemas).state)
