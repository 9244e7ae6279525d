"""Which aggregates take maps, which cannot be compared (semantics 35.3)."""

import pytest
from pyspark.sql.types import LongType, MapType, StringType, StructField, StructType, TimestampType

from panewise import Aggregate, Tumbling, WindowOperator
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spark.columns.maps import check_maps

MAPS = StructType(
    [
        StructField("ts", TimestampType()),
        StructField("m", MapType(StringType(), LongType())),
        StructField("n", LongType()),
    ]
)


def check(aggregate: Aggregate, *, keys: tuple[str, ...] = ()) -> None:
    spec = WindowOperator(window=Tumbling("1 hour"), keys=keys, event_time="ts", aggregates=[aggregate])
    check_maps(spec, MAPS)


@pytest.mark.parametrize(
    "aggregate",
    [F.first("m"), F.max_by("m", "n"), F.count("m"), F.collect_list("m"), F.last_n("m", 2), F.max("n")],
    ids=lambda aggregate: aggregate.name,
)
def test_functions_that_carry_or_count_maps_take_them(aggregate: Aggregate) -> None:
    check(aggregate)


@pytest.mark.parametrize(
    "aggregate",
    [F.max("m"), F.collect_set("m"), F.max_by("n", "m"), F.count_distinct("m")],
    ids=lambda aggregate: aggregate.name,
)
def test_functions_that_compare_maps_refuse_them(aggregate: Aggregate) -> None:
    with pytest.raises(SpecError, match=r"maps cannot be compared \| use a value of the map"):
        check(aggregate)


def test_a_map_is_no_key() -> None:
    with pytest.raises(SpecError, match="maps cannot be compared, so they cannot be keys or define an order"):
        check(F.count(), keys=("m",))
