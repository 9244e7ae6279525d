"""Columns of types that the engine does not have: where maps are refused, and which outputs have them.

Source: semantics 35.3, 35.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.columns.types import contains, is_lossless, spark_type
from panewise.spec import Aggregate, RowFunction, Specification, parts
from panewise.spec.carried_values import LIST_FUNCTIONS, VALUE_FUNCTIONS
from panewise.spec.column_values import ColumnType

_COUNTS = frozenset({"count"})


def check_maps(spec: Specification, inputs: StructType, port: str = INPUT) -> None:
    """Refuses maps where values are compared, as Spark does."""
    entry = spec.ports[port]
    for name in (*entry.keys, *entry.order, *(entry.position.columns if entry.position else ())):
        if contains(inputs[name].dataType, MapType):
            rule = "maps cannot be compared, so they cannot be keys or define an order"
            raise SpecError(
                f"column {name}: {inputs[name].dataType.simpleString()}",
                rule,
                "use a value of the map, or a string of it",
            )
    for what in parts(spec).functions(spec, port):
        for name in what.columns:
            if contains(inputs[name].dataType, MapType) and (name in _ranks(what) or not _carries(what)):
                rule = f"{what.fn} compares values, and maps cannot be compared"
                raise SpecError(
                    f"{what.name!r} over {name}: {inputs[name].dataType.simpleString()}",
                    rule,
                    "use a value of the map",
                )


def _ranks(what: Aggregate | RowFunction) -> tuple[str, ...]:
    """Returns the columns by which an aggregate ranks rows."""
    return tuple(rank.column for rank in what.ranking) if isinstance(what, Aggregate) else ()


def _carries(what: Aggregate | RowFunction) -> bool:
    """Returns whether a function returns values unchanged, only counts them, or is user-defined."""
    unchanged = what.fn in VALUE_FUNCTIONS | LIST_FUNCTIONS | _COUNTS
    if not isinstance(what, Aggregate):
        return unchanged
    return what.user is not None or (unchanged and not what.distinct)


def spark_types(spec: Specification, inputs: Mapping[str, StructType]) -> dict[str, DataType]:
    """Returns the types of the pane columns that contain values of the input in types of Spark's own.

    In the engine such a value has another type: a map is a list of structs, a collated string is a string.
    """
    known = {port: {field.name: field.dataType for field in schema.fields} for port, schema in inputs.items()}
    types = parts(spec).carried(spec, known, _SparkTypes(known))
    return {name: kind for name, kind in types.items() if not is_lossless(kind)}


@dataclass(frozen=True)
class _SparkTypes:
    """Builds types of lists: :class:`panewise.spec.carried_values.Carried`."""

    known: Mapping[str, Mapping[str, DataType]]

    def list_of(self, inner: DataType) -> DataType:
        return ArrayType(inner)

    def of_name(self, name: str) -> DataType:
        return spark_type(ColumnType.parse(name))

    def rows_of(self, names: tuple[str, ...], port: str = INPUT) -> DataType:
        return ArrayType(StructType([StructField(name, self.known[port][name]) for name in names]))
