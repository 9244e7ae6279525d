"""MAP columns that pass through an operator: where they are refused, and which outputs have them.

Source: semantics 35.3.
"""

from collections.abc import Iterable

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from panewise.errors import SpecError
from panewise.spark.types import contains
from panewise.spec import Aggregate, Chain, FrameOperator, RowFunction, Specification, StreamWindow, first_of

_OF_THE_COLUMN = frozenset({"first", "last", "max_by", "min_by", "lag", "lead", "nth_value"})
_LISTS = frozenset({"collect_list", "top_n_by"})
_COUNTS = frozenset({"count"})


def check_maps(spec: Specification, inputs: StructType) -> None:
    """Refuses maps where values are compared, as Spark does.

    Raises:
        SpecError: for a map in a key, an order or position column, or an aggregate that compares values.
    """
    first = first_of(spec)
    for name in (*first.keys, *first.order, *(first.position.columns if first.position else ())):
        if contains(inputs[name].dataType, MapType):
            rule = "maps cannot be compared, so they cannot be keys or define an order"
            raise SpecError(
                f"column {name}: {inputs[name].dataType.simpleString()}",
                rule,
                "use a value of the map, or a string of it",
            )
    for what in _functions(spec):
        for name in what.columns:
            if contains(inputs[name].dataType, MapType) and (
                name == getattr(what, "by", None) or not _carries(what)
            ):
                rule = f"{what.fn} compares values, and maps cannot be compared"
                raise SpecError(
                    f"{what.name!r} over {name}: {inputs[name].dataType.simpleString()}",
                    rule,
                    "use a value of the map",
                )


def _carries(what: Aggregate | RowFunction) -> bool:
    """Returns whether a function returns values unchanged, only counts them, or is user-defined."""
    user = isinstance(what, Aggregate) and what.user is not None
    return user or (what.fn in _OF_THE_COLUMN | _LISTS | _COUNTS and not getattr(what, "distinct", False))


def map_types(spec: Specification, inputs: StructType) -> dict[str, DataType]:
    """Returns the types of the pane columns that contain maps. In the engine maps are lists of structs."""
    known = {field.name: field.dataType for field in inputs.fields}
    found = _of(_functions(spec), known)
    if isinstance(spec, Chain):
        for stage in spec.stages:
            found = {name: kind for name, kind in found.items() if name in stage.keys} | _of(
                stage.aggregates, found
            )
    elif isinstance(spec, StreamWindow):
        if not spec.aggregates and spec.listener is None:
            found["tuples"] = _rows(spec.columns or tuple(known), known)
    elif not isinstance(spec, FrameOperator) and spec.delta is not False:
        found["delta"] = _rows(tuple(known) if spec.delta is True else spec.delta, known)
    return {name: kind for name, kind in found.items() if contains(kind, MapType)}


def _functions(spec: Specification) -> tuple[Aggregate | RowFunction, ...]:
    """Returns the functions over the columns of the input."""
    if isinstance(spec, FrameOperator):
        return tuple(column.what for column in spec.columns)
    return spec.first.aggregates if isinstance(spec, Chain) else spec.aggregates


def _of(functions: Iterable[Aggregate | RowFunction], known: dict[str, DataType]) -> dict[str, DataType]:
    """Returns the types of the functions that return values unchanged."""
    found: dict[str, DataType] = {}
    for what in functions:
        if what.column in known and what.fn in _OF_THE_COLUMN | _LISTS:
            found[what.name] = ArrayType(known[what.column]) if what.fn in _LISTS else known[what.column]
    return found


def _rows(names: tuple[str, ...], known: dict[str, DataType]) -> DataType:
    return ArrayType(StructType([StructField(name, known[name]) for name in names]))
