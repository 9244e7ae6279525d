"""Policy windows in the engine: column types, names of partitions, stored state, rows after the end."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from panewise import SpecError, StreamWindow, WindowListener
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.policy.operator import PolicyEngine
from panewise.engine.run_library import Cache, RunLibrary
from panewise.errors import InputError
from panewise.oracle import PolicyInterpreter
from panewise.state import MemoryRunStore
from panewise.streamwindow import count, delta, partition_count, punct, time
from panewise.testing import run

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
RUNTIMES = pytest.mark.parametrize("runtime", ["oracle", "engine"])


class ListenerLog:
    """A listener that returns the number of tuples of each event."""

    def handle(self, event: Any) -> Any:
        return [{"n": len(event.tuples)}]


TELLING = WindowListener(ListenerLog, name="telling", outputs={"n": "bigint"})


def evicted(spec: StreamWindow, values: pl.Series) -> list[list[Any]]:
    operator = PolicyEngine(spec, {"v": values.dtype})
    return [
        [row["v"] for row in tuples]
        for tuples in operator.add(pl.DataFrame([values])).panes["tuples"].to_list()
    ]


DELTAS = [
    (pl.Series("v", [0, 5, 6, 255], dtype=pl.UInt8), 5, [[0, 5], [6]]),
    (pl.Series("v", [0, 2**62, 2**63 - 1, -(2**63)], dtype=pl.Int64), 2**62, [[0, 2**62]]),
    (pl.Series("v", [0.0, 0.5, float("inf"), float("inf")], dtype=pl.Float64), 0.5, [[0.0, 0.5]]),
    (pl.Series("v", ["0", "1e27", "2e27"]).cast(pl.Decimal(38, 9)), Decimal("1e27"),
    [[Decimal(0), Decimal("1e27")]]),
    (pl.Series("v", ["0", "1e27", f"1{'0' * 27}.000000001"]).cast(pl.Decimal(38, 9)), 10**27,
    [[Decimal(0), Decimal("1e27")]]),
    (
        pl.Series("v", [NOON, NOON + timedelta(seconds=1), NOON + timedelta(seconds=1, microseconds=1)],
        dtype=pl.Datetime("us", "UTC")),
        "1 second",
        [[NOON, NOON + timedelta(seconds=1)]],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("values", "amount", "wanted"), DELTAS)
def test_differences_are_exact(values: pl.Series, amount: Any, wanted: list[list[Any]]) -> None:
    """A delta compares the exact difference of two values, without overflow or rounding (semantics 10.4)."""
    spec = StreamWindow.tumbling(delta("v", amount), events=["EVICTION"])
    assert evicted(spec, values) == wanted


@pytest.mark.parametrize(
    ("dtype", "name"), [(pl.String(), "string"), (pl.Boolean(), "boolean"), (pl.Date(), "date")]
)
def test_a_delta_of_other_types_is_refused(dtype: pl.DataType, name: str) -> None:
    with pytest.raises(SpecError) as caught:
        PolicyEngine(StreamWindow.sliding(count(2), delta("v", 1)), {"v": dtype})
    rule = "a delta is of whole numbers, doubles, decimals or timestamps (semantics 10.4)"
    assert caught.value.args[0] == f"delta over v: {name} | {rule} | cast v to one of these"


def test_a_delta_of_timestamps_of_another_unit_is_refused() -> None:
    with pytest.raises(
        SpecError, match=r"delta over v: Datetime\(.*ms.*\) \| a delta is of .* \| cast it to microseconds"
    ):
        PolicyEngine(StreamWindow.sliding(count(2), delta("v", 1)), {"v": pl.Datetime("ms")})


@pytest.mark.parametrize(("dtype", "name"), [(pl.Float64(), "double"), (pl.Decimal(10, 2), "decimal(10,2)")])
def test_a_duration_is_no_amount_of_doubles_and_decimals(dtype: pl.DataType, name: str) -> None:
    with pytest.raises(SpecError) as caught:
        PolicyEngine(StreamWindow.sliding(count(2), delta("v", "1 minute")), {"v": dtype})
    rule = (
        "a duration is an amount of timestamps, and of whole numbers, which are microseconds then "
        "(semantics 10.4)"
    )
    assert caught.value.args[0] == f"delta('v', Duration('1 minute')) over v: {name} | {rule} | give a number"
    assert evicted(
        StreamWindow.tumbling(delta("v", "1 ms"), events=["EVICTION"]), pl.Series("v", [0, 1000, 1001])
    ) == [[0, 1000]]


def test_markers_are_boolean() -> None:
    """`punct` over a column that is not Boolean is refused (semantics 10.5)."""
    with pytest.raises(SpecError) as caught:
        PolicyEngine(StreamWindow.tumbling(punct("v")), {"v": pl.Int64()})
    assert caught.value.args[0] == (
        "punct over v: bigint | a Boolean column says which rows are markers (semantics "
        "10.5) | make one before the operator"
    )


def test_rows_after_the_end_are_late() -> None:
    """Rows after the end of input, which are possible on Spark, are late (semantics 12.2)."""
    operator = PolicyEngine(StreamWindow.tumbling(count(2)), {"v": pl.Int64()})
    operator.add(pl.DataFrame({"v": [1]}))
    assert operator.finish().panes["event"].to_list() == ["FINAL"]
    output = operator.add(pl.DataFrame({"v": [2, 3]}))
    assert (output.counts.late, output.counts.rows_in, output.panes.height) == (2, 2, 0)
    assert output.late.select("v", "__reason").rows() == [(2, "finished"), (3, "finished")]
    assert operator.advance(10**9).panes.is_empty()


def test_partitions_of_any_type_are_found_again() -> None:
    keys = {"day": pl.Date(), "price": pl.Decimal(10, 2), "raw": pl.Binary()}
    operator = PolicyEngine(
        StreamWindow.tumbling(count(2), partition_by=list(keys), aggregates=[F.count().alias("n")]), keys
    )
    rows = pl.DataFrame(
        {"day": [NOON.date()] * 2, "price": [Decimal(1), Decimal(2)], "raw": [b"a", b"a"]}, schema=keys
    )
    assert operator.add(rows).panes.is_empty()
    assert operator.add(rows).panes.select("price", "n").rows() == [(1, 2), (2, 2)]
    assert operator.evict({"day": NOON.date(), "price": Decimal(1), "raw": b"a"}).panes.is_empty()
    assert operator.live()["price"].to_list() == [2]


def test_a_partition_is_named_by_nan() -> None:
    """NaN names the partition whose key is NaN, because NaN equals NaN as a key (semantics 10.23, 15.2)."""
    operator = PolicyEngine(StreamWindow.tumbling(count(2), partition_by=["k"]), {"k": pl.Float64()})
    operator.add(pl.DataFrame({"k": [1.0]}))
    assert operator.evict({"k": float("nan")}).panes.is_empty()
    operator.add(pl.DataFrame({"k": [float("nan")]}))
    assert operator.evict({"k": -float("nan")}).panes["event"].to_list() == ["PARTITION_EVICTION"]
    assert operator.evict({"k": 1}).panes["event"].to_list() == ["PARTITION_EVICTION"]


EVENTS = [
    ([{"op": "reset"}],
    ("a reset without a checkpoint | a reset returns to the last checkpoint | make a "
    "checkpoint before it")),
    ([{"op": "watermark", "to": 1}],
    "a watermark from outside | with time='processing' the watermark is processing time"),
    ([{"op": "evict", "partition": {"x": 1}}],
    "an evict of {'x': 1} | a partition is named by the columns ['k'] | give a dict of"),
    ([{"op": "evict", "partition": {"k": 1}}],
    "an evict of {'k': 1} | k is of the type string | give a value of this type"),
    ([{"op": "evict", "partition": None}],
    "events[1].partition=None | a partition is named by its columns | give a dict such as {'k': 'a'}"),
    ([{"op": "evict"}],
    ("events[1] lacks the field 'partition': {'op': 'evict'} | the fields of 'evict' are ['partition'] | "
    "give")),
    ([{"op": "finish"}, {"op": "drain"}],
    "'drain' after finish | at the end of input all partitions are purged (semantics 10.12)"),
]  # fmt: skip


@pytest.mark.parametrize(("events", "message"), EVENTS)
def test_events_that_cannot_be(events: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(
            StreamWindow.tumbling(time(5), partition_by=["k"]), [{"op": "add", "rows": [{"k": "a"}]}, *events]
        )
    assert str(caught.value).startswith(message)


NAMES = [
    (["k"], {"z": 1},
    "an evict of {'z': 1} | a partition is named by the columns ['k'] | give a dict of these and no others"),
    (["k"], "a",
    "an evict of 'a' | a partition is named by the columns ['k'] | give a dict of these and no others"),
    (["k"], {"k": 1}, "an evict of {'k': 1} | k is of the type String | give a value of this type"),
    (["v"], {"v": 2**70},
    "an evict of {'v': 1180591620717411303424} | v is of the type Int64 | give a value of this type"),
    (["p"], {"p": Decimal("1.005")},
    "an evict of {'p': Decimal('1.005')} | p is of the type Decimal(precision=10, scale=2) | "),
    (["v"], {"v": True}, "an evict of {'v': True} | v is of the type Int64 | give a value of this type"),
    (["v"], {"v": float("nan")},
    "an evict of {'v': nan} | v is of the type Int64 | give a value of this type"),
    (["k"], {"k": [1]},
    ("an evict of {'k': [1]} | a partition is named by values of its columns (unhashable type: 'list') | "
    "give")),
    ([], {"z": 1},
    ("an evict of {'z': 1} | without partition_by there is one partition, which cannot be "
    "evicted (semantics 10.23) | give partition_by, or leave")),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "named", "message"), NAMES)
def test_names_that_no_partition_can_have(keys: list[str], named: Any, message: str) -> None:
    operator = PolicyEngine(
        StreamWindow.tumbling(count(2), partition_by=keys),
        {"k": pl.String(), "v": pl.Int64(), "p": pl.Decimal(10, 2)},
    )
    with pytest.raises(InputError) as caught:
        operator.evict(named)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("keys", "named"), [([], {"z": 1}), (["k"], {"z": 1})])
def test_names_that_the_oracle_refuses(keys: list[str], named: Any) -> None:
    with pytest.raises(InputError, match=r"an evict of \{'z': 1\}"):
        PolicyInterpreter(StreamWindow.tumbling(count(2), partition_by=keys)).evict(named)


def test_the_only_partition_is_not_evicted() -> None:
    with pytest.raises(InputError, match="without partition_by there is one partition"):
        run(StreamWindow.tumbling(time(5)), [{"op": "evict", "partition": {"k": 1}}])


def test_other_specifications_have_no_policies() -> None:
    """`drain` is not an event of a window operator."""
    import panewise as pw

    spec = pw.WindowOperator(window=pw.Tumbling(5), aggregates=[F.count()])
    with pytest.raises(InputError) as caught:
        run(spec, [{"op": "drain"}])
    known = "an event has an op of ['add', 'change', 'clock', 'finish', 'restart', 'watermark']"
    assert caught.value.args[0] == f"events[0]={{'op': 'drain'}} | {known} | give {{'op': ..., ...}}"


def test_a_step_writes_the_partitions_that_it_touches() -> None:
    spec = StreamWindow.sliding(time(100), time(10), partition_by=["k"])
    store, cache = MemoryRunStore(), Cache()

    def step(now: int, *keys: int) -> list[int]:
        stored = StoredOperator.load(spec, {"k": pl.Int64()}, RunLibrary(store, cache))
        stored.operator.advance(now)
        stored.operator.add(pl.DataFrame({"k": keys}, schema={"k": pl.Int64()}))
        if stored.changed:
            stored.commit()
        return [run.rows for run in stored.manifest.runs]

    assert step(0, *range(20)) == [20]
    assert step(5, 3) == [20, 1]
    assert step(9) == [20, 1]  # nothing is due
    assert step(10) == [20, 1, 20]  # every trigger


def test_an_evicted_partition_is_not_written_again() -> None:
    """The tombstone of a partition contains its keys, but not its tuples."""
    spec = StreamWindow.tumbling(
        count(9), partition_by=["k"], partition_eviction=partition_count(1), listener=TELLING
    )
    store, schema = MemoryRunStore(), {"k": pl.Int64(), "text": pl.String()}
    for key in (1, 2):
        stored = StoredOperator.load(spec, schema, RunLibrary(store, Cache()))
        stored.operator.add(pl.DataFrame({"k": [key], "text": ["long"]}, schema=schema))
        dead = stored.operator.state.partitions.newest.filter("__dead")
        stored.commit()
    [gone] = dead.drop("k", "__start", "__end", "__dead").rows()
    assert (dead["k"].to_list(), set(gone)) == ([1], {None})
    reloaded = StoredOperator.load(spec, schema, RunLibrary(store, Cache()))
    assert reloaded.operator.live()["k"].to_list() == [2]


@pytest.mark.parametrize("rows", [[], [{}, {}, {}]])
@pytest.mark.parametrize(
    "told",
    [{}, {"listener": TELLING}, {"aggregates": [F.count().alias("n")]}],
    ids=["plain", "listener", "aggregates"],
)
def test_rows_without_columns(rows: list[dict[str, Any]], told: dict[str, Any]) -> None:
    spec = StreamWindow.tumbling(count(2), events=["EVICTION", "FINAL"], **told)
    events = [*([{"op": "add", "rows": rows}] if rows else []), {"op": "finish"}]
    wanted = run(spec, events, "oracle")
    assert wanted[-1]["panes"][0]["event"] == "FINAL"
    assert run(spec, events, "engine") == run(spec, events, "engine", stored=True) == wanted


FIRST, LAST = -62_135_596_800, 253_402_300_799  # the first second of the year 1, and the last of 9999
MICRO, DAY = 10**6, 86_400
YEARS = [
    (pl.Date(), [FIRST // DAY, LAST // DAY], [FIRST // DAY - 1, LAST // DAY + 1, 2**31 - 1]),
    (
        pl.Datetime("us", "UTC"),
        [FIRST * MICRO, LAST * MICRO + 999_999],
        [FIRST * MICRO - 1, (LAST + 1) * MICRO, 2**62],
    ),
    (pl.Datetime("us"), [FIRST * MICRO, LAST * MICRO + 999_999], [-(2**62), (LAST + 1) * MICRO]),
    (pl.Datetime("ms"), [FIRST * 1000, LAST * 1000 + 999], [(LAST + 1) * 1000]),
    (
        pl.Datetime("us", "Asia/Tokyo"),
        [(FIRST + DAY) * MICRO, (LAST - DAY) * MICRO],
        [FIRST * MICRO, LAST * MICRO],
    ),
    (pl.Datetime("ns"), [-(2**63) + 1, 2**63 - 1], []),
]
INSIDE = [
    (lambda dtype: dtype, lambda t: t),
    (pl.List, lambda t: t.implode().over(pl.int_range(pl.len()))),
    (
        lambda dtype: pl.Struct({"n": pl.Int64(), "t": dtype}),
        lambda t: pl.struct(pl.lit(1, dtype=pl.Int64).alias("n"), t.alias("t")),
    ),
]


@pytest.mark.parametrize(("dtype", "inside", "outside"), YEARS, ids=str)
@pytest.mark.parametrize(("whole", "wrap"), INSIDE, ids=["plain", "list", "struct"])
def test_values_that_python_cannot_represent_are_invalid_with_a_listener(
    dtype: pl.DataType, inside: list[int], outside: list[int], whole: Any, wrap: Any
) -> None:
    """With a listener, a date outside the years 1 to 9999 makes its row invalid (semantics 10.19)."""
    physical = pl.Series(
        "t", [*inside, None, *outside], dtype=pl.Int32() if dtype == pl.Date() else pl.Int64()
    )
    rows = pl.DataFrame([physical]).select(wrap(pl.col("t").cast(dtype)).alias("t"))
    operator = PolicyEngine(StreamWindow.tumbling(count(9), listener=TELLING), {"t": whole(dtype)})
    output = operator.add(rows)
    assert output.counts.applied == len(inside) + 1
    assert output.invalid["__reason"].to_list() == ["t is outside the years 1 to 9999"] * len(outside)
    assert output.panes["n"].to_list() == [1] * (len(inside) + 1)
    assert PolicyEngine(StreamWindow.tumbling(count(9)), {"t": whole(dtype)}).add(rows).counts.invalid == 0


def test_keys_that_python_cannot_represent_are_invalid_with_a_listener() -> None:
    """The years in columns of `partition_by` are tested: a listener receives them, too (semantics 10.19)."""
    spec = StreamWindow.tumbling(count(9), partition_by=["t"], columns=["v"], listener=TELLING)
    operator = PolicyEngine(spec, {"t": pl.Datetime("us", "UTC"), "v": pl.Int64()})
    rows = pl.DataFrame({"t": [0, 2**62], "v": [1, 2]}).with_columns(
        pl.col("t").cast(pl.Datetime("us", "UTC"))
    )
    assert operator.add(rows).invalid["__reason"].to_list() == ["t is outside the years 1 to 9999"]
