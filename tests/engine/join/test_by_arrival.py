"""The windows of rows by arrival where random events do not lead: long batches, merges and equal hashes."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from panewise import JoinOperator, LastRows, Latest, Side, testing
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.search import candidate_slices, rows_of_keys
from panewise.engine.registry import operator_for
from panewise.engine.saved_operator import restore, save
from panewise.engine.tables import rows_by_key, run
from panewise.errors import SpecError
from panewise.state import MemoryRunStore
from panewise.streamwindow import delta, time
from tests.engine.join.micro_batches import LONG, SCHEMAS, inspected, rows, steps

MATCHES = [LastRows(2, left=2), LastRows(delta("w", 1), left=delta("v", 1)), LastRows(2, order="event_time")]
NAMES = ["count", "delta", "event time"]


def join(match: LastRows | Latest, how: Any = "left") -> JoinOperator:
    prefix = {} if how in ("semi", "anti") else {"prefix": "r_"}
    right = Side(keys=["k"], event_time="t", **prefix)  # type: ignore[arg-type]
    return JoinOperator(left=Side(keys=["k"], event_time="t"), right=right, match=match, how=how)


@pytest.mark.parametrize("match", MATCHES, ids=NAMES)
def test_rows_out_of_their_windows_are_dropped_at_merges(match: LastRows) -> None:
    """semantics 41.1, 41.2: also if a batch is so long that it is sealed before the commit."""
    micro_batches = steps(join(match), MemoryRunStore())
    for n in range(12):
        operator = next(micro_batches).operator
        operator.advance(watermark=n * 5000)
        operator.add(rows("right", *((m % 10, n * 5000 + m, n * 5000 + m) for m in range(5000))), "right")
    operator = next(micro_batches).operator
    assert operator.state.tables["right"].all().height < 4 * 5000
    operator.advance(watermark=60_000)
    operator.add(rows("left", (3, 70_000, 0)), "left")
    found = operator.finish("right" if match.order == "event_time" else "left").panes
    if match.order == "event_time":
        assert found["r_w"].to_list() == [59_983, 59_993]


@pytest.mark.parametrize("match", MATCHES[:2], ids=NAMES[:2])
def test_matches_of_evicted_rows_are_deleted(match: LastRows) -> None:
    """semantics 41.2: the table of matches does not grow with the stream."""
    micro_batches = steps(join(match, "anti"), MemoryRunStore())
    for n in range(40):
        operator = next(micro_batches).operator
        operator.add(rows("left", *((key, n, 2 * n) for key in range(20))), "left")
        operator.add(rows("right", *((key, n, 2 * n) for key in range(20))), "right")
    operator = next(micro_batches).operator
    assert operator.state.tables["left matches"].all().height <= 2 * 20


@pytest.mark.parametrize("match", MATCHES, ids=NAMES)
@pytest.mark.parametrize("how", ["left", "semi", "anti"])
def test_rows_of_other_keys_may_have_the_same_hash(
    match: LastRows, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every key has the hash 7, also in the windows that the merges leave."""
    given = [(n % 3, n, n * 2 % 5) for n in range(40)]
    outputs = []
    for collide in (False, True):
        if collide:
            for module in (rows_of_keys, rows_by_key, run):
                monkeypatch.setattr(
                    module, "row_hashes", lambda frame, _: np.full(frame.height, 7, dtype=np.uint64)
                )
        micro_batches, found = steps(join(match, how), MemoryRunStore()), []
        for n in range(0, 40, 4):
            operator = next(micro_batches).operator
            of_left = [(key + n // 4 % 2 * 2, at, value) for key, at, value in given[n : n + 4]]
            batch = {"right": rows("right", *given[n : n + 4]), "left": rows("left", *of_left)}
            found += [one.panes for one in operator.add_batch(batch)]
            found.append(operator.advance(watermark=n).panes)
        found.append(next(micro_batches).operator.finish().panes)
        outputs.append(pl.concat(found))
    assert outputs[0].height > 5
    assert outputs[0].equals(outputs[1])


def test_rows_that_delete_are_dropped_at_merges() -> None:
    """semantics 37.8, 41.3: once nothing is left that they delete."""
    micro_batches = steps(join(Latest(deletes=(None, "w"))), MemoryRunStore())
    for n in range(12):
        operator = next(micro_batches).operator
        given = pl.DataFrame(
            [(m, n, w) for m in range(1000) for w in (1, None)], SCHEMAS["right"], orient="row"
        )
        operator.add(given, "right")
    operator = next(micro_batches).operator
    assert operator.add(rows("left", (5, 20, 0)), "left").panes.is_empty()
    assert operator.state.tables["right"].all().height <= 3 * 1000
    assert operator.live()["window_start"].to_list() == [20]


def test_a_row_that_deletes_stays_beside_another_key_of_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge may leave the row that it deletes, if rows of another key are between them."""
    for module in (rows_of_keys, rows_by_key, run):
        monkeypatch.setattr(module, "row_hashes", lambda frame, _: np.full(frame.height, 7, dtype=np.uint64))
    micro_batches = steps(join(Latest(deletes=(None, "w"))), MemoryRunStore())
    for n, (key, value) in enumerate(
        [(1, 1), (2, 1), (1, None), (2, None), (2, 2), (1, None), (2, None)] * 3
    ):
        given = pl.DataFrame([(key, n, value)], SCHEMAS["right"], orient="row")
        next(micro_batches).operator.add(given, "right")
    panes = next(micro_batches).operator.add(rows("left", (1, 50, 0), (2, 50, 0)), "left").panes
    assert panes.is_empty()


def test_a_window_by_delta_over_timestamps() -> None:
    """semantics 37.4, 10.4: the amount is a duration."""
    instants = pl.Datetime("us", "UTC")
    schemas = {"left": SCHEMAS["left"], "right": {"k": LONG, "t": LONG, "w": instants}}
    spec = join(LastRows(delta("w", "2 seconds")), "inner")
    operator = operator_for(spec, schemas)
    given = [
        (1, n, datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)) for n, second in enumerate((1, 5, 4, 7, 6))
    ]
    operator.add(pl.DataFrame(given, schema=schemas["right"], orient="row"), "right")
    operator = restore(spec, schemas, save(operator))
    panes = operator.add(rows("left", (1, 0, 0)), "left").panes
    assert [value.second for value in panes["r_w"]] == [5, 4, 7, 6]


def test_a_delta_over_other_units_is_refused() -> None:
    schemas = {"left": SCHEMAS["left"], "right": {"k": LONG, "t": LONG, "w": pl.Datetime("ns")}}
    with pytest.raises(SpecError, match=r"delta over w: Datetime.* \| .* \| cast it to microseconds"):
        JoinEngine(join(LastRows(delta("w", 2))), schemas)


@pytest.mark.parametrize(
    ("match", "times"),
    [
        (LastRows(2, left=1), [6, 6, 7, 8]),
        (LastRows(delta("w", 1), left=delta("v", 0)), [5, 6, 6, 7, 8]),
        (LastRows(0, left=time(10)), [6]),
        (LastRows(time(10), left=1), [6, 6, 7, 8]),
        (LastRows(2, order="event_time"), [5, 6, 6]),
        (Latest(11), [6, 8]),
        (Latest(12, deletes=("v", "w")), [6, 6, 8]),
    ],
)
def test_an_inspection_shows_what_the_windows_contain(match: LastRows | Latest, times: list[int]) -> None:
    """Semantics 41.1, 41.2: the operator shows the same."""
    spec, store = join(match, "inner"), MemoryRunStore()
    micro_batches = steps(spec, store)
    operator = next(micro_batches).operator
    operator.advance(processing_time=100)
    operator.add(rows("right", (1, 2, 0)), "right")
    next(micro_batches).operator.add(rows("left", (1, 5, 9), (2, 6, 1)), "left")
    operator = next(micro_batches).operator
    operator.advance(processing_time=111)
    operator.add(rows("right", (1, 7, 5), (1, 8, 5)), "right")
    operator.add(rows("left", (1, 6, 8)), "left")
    stored = next(micro_batches)
    assert stored.operator.live()["window_start"].to_list() == times
    found = inspected(stored.operator)
    assert sorted(found.rows["__end"]) == times


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize(
    "match",
    [LastRows(3, left=2), LastRows(time(9), left=time(9)), LastRows(delta("w", 2), left=2), Latest()],
    ids=["count", "time", "delta", "latest"],
)
def test_pairs_in_pieces_are_those_of_one_piece(
    match: LastRows | Latest, how: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 37.4, 40.3: pieces change neither the pairs nor their order."""
    types = {side: dict.fromkeys(schema, "bigint") for side, schema in SCHEMAS.items()}
    given = {
        side: [dict(zip(schema, (n % 3, n, n % 7), strict=True)) for n in range(20)]
        for side, schema in SCHEMAS.items()
    }
    events: list[dict[str, Any]] = [{"op": "clock", "to": 1}, *[{"op": "add", "rows": given}] * 2]
    found = [[out["panes"] for out in testing.run(join(match, how), events, "oracle", types=types)]]
    for piece in (1 << 16, 5):
        monkeypatch.setattr(candidate_slices, "PIECE", piece)
        found.append([out["panes"] for out in testing.run(join(match, how), events, "engine", types=types)])
    assert found[0] == found[1] == found[2]
    assert sum(map(len, found[0])) > 10
