"""Tests of `shard_figures`: windows of a shard, counted from its runs, and errors for corrupt state."""

import json
import random
import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

import panewise as pw
from panewise import functions as F
from panewise.checkpoints.figures import ShardFigures
from panewise.checkpoints.shard import live_rows, shard_figures
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.errors import StateError
from panewise.state import MemoryRunStore
from panewise.streamwindow import partition_age, time
from tests.nightly import nightly
from tests.state.make_golden import CASES, SCHEMA, SECOND, formats_of, read, rows

OWN = pw.Custom.each(lambda row: [(row["event_time"], row["event_time"] + 9 * SECOND)], name="own")
COUNT = F.count().alias("n")
EARLY = pw.AfterWatermark(early=pw.Always(), late=pw.Always())
SPECS = {
    "tumbling": pw.WindowOperator(
        window=pw.Tumbling("10 seconds"), keys=["k"], event_time="ts", aggregates=[COUNT]
    ),
    "retracting": pw.WindowOperator(
        window=pw.Hopping("10 seconds", "4 seconds"),
        keys=["k"],
        event_time="ts",
        aggregates=[COUNT, F.collect_list("v").alias("l")],
        trigger=EARLY,
        accumulation="retracting",
        allowed_lateness="15 seconds",
    ),
    "session": pw.WindowOperator(
        window=pw.Session("3 seconds"),
        keys=["k", "partition"],
        event_time="ts",
        aggregates=[COUNT],
        trigger=EARLY,
        accumulation="retracting",
        allowed_lateness="15 seconds",
    ),
    "unlimited": pw.WindowOperator(
        window=pw.Cumulating("20 seconds", "5 seconds"),
        event_time="ts",
        aggregates=[COUNT],
        allowed_lateness="unlimited",
    ),
    "custom": pw.WindowOperator(
        window=OWN, keys=["k"], event_time="ts", aggregates=[COUNT], allowed_lateness="5 seconds"
    ),
    "merging": pw.WindowOperator(
        window=replace(OWN, merge=True), keys=["k"], event_time="ts", aggregates=[COUNT]
    ),
    "stream time": pw.WindowOperator(
        window=pw.Tumbling("10 seconds"),
        keys=["k"],
        event_time="ts",
        aggregates=[COUNT],
        allowed_lateness="5 seconds",
        watermark=pw.StreamTime("3 seconds"),
    ),
    "processing time": pw.WindowOperator(
        window=pw.Session("3 seconds"), keys=["k"], aggregates=[COUNT], time="processing"
    ),
    "calendar": pw.WindowOperator(
        window=pw.Calendar("week"), keys=["k"], event_time="ts", aggregates=[COUNT]
    ),
    "rows": pw.WindowOperator(window=pw.Hopping(pw.rows(7), pw.rows(2)), keys=["k"], aggregates=[COUNT]),
    "session of rows": pw.WindowOperator(window=pw.Session(pw.rows(5)), keys=["k"], aggregates=[COUNT]),
    "global": pw.WindowOperator(
        window=pw.Global(), keys=["k"], event_time="ts", aggregates=[COUNT], trigger=pw.Always()
    ),
}
BY_ROWS = ("rows", "session of rows")
# Their state has the tables and columns of another one: of tumbling, hopping and session windows.
LIKE_ANOTHER = ("calendar", "custom", "session of rows", "unlimited")


def content(store: MemoryRunStore) -> dict[str, bytes]:
    """Returns the state of a shard as Spark stores it: the runs by name, and the manifest."""
    manifest = store.manifest()
    return {name: store.run(name) for name in store.names} | (
        {} if manifest is None else {"manifest": manifest.encode()}
    )


@pytest.mark.parametrize("name", [nightly(name) if name in LIKE_ANOTHER else name for name in sorted(SPECS)])
def test_windows_are_counted_as_the_operator_counts_them(name: str) -> None:
    """The counts are right after each commit, with merges of runs and of sessions, retractions and expiry."""
    spec, store, draw = SPECS[name], MemoryRunStore(), random.Random(3)
    for step in range(20):
        stored = StoredOperator.load(spec, SCHEMA, RunLibrary(store, Cache()))
        stored.operator.advance(step * SECOND, (step * 3 - 20) * SECOND)
        stored.operator.add(
            rows(
                tuple(
                    (draw.randrange(step * 3 - 30, step * 3 + 10), draw.choice("abcdef"), 1)
                    for _ in range(12)
                )
            )
        )
        if step == 19:
            stored.operator.finish()
        stored.commit()
        held, found = (
            StoredOperator.load(spec, SCHEMA, RunLibrary(store, Cache())).operator.live(),
            shard_figures(7, content(store)),
        )
        assert (found.shard, found.windows, found.finished) == (7, held.height, step == 19)
        assert found.keys == (held.select(spec.keys).n_unique() if spec.keys else 1 if held.height else 0)
        ends = (None, None) if name in BY_ROWS else (held["window_end"].min(), held["window_end"].max())
        assert (found.oldest_end, found.newest_end) == ends
        assert (found.runs, found.bytes) == (
            len(store.names),
            sum(len(store.run(run)) for run in store.names),
        )
        told = {"stream time": None, **dict.fromkeys(BY_ROWS), "processing time": step * SECOND}.get(
            name, (step * 3 - 20) * SECOND
        )
        assert (found.watermark, found.processing_time) == (told, step * SECOND)


STATES = [(name, number) for name in sorted(CASES) for number in formats_of(name)]


@pytest.mark.parametrize(("name", "number"), STATES)
def test_a_shard_of_many_rows_is_read_in_parts(name: str, number: int) -> None:
    """Of every family: its figures are those of a shard that is read at once."""
    state = content(read(name, number))
    whole = shard_figures(0, state)
    for many in (1, 3):
        assert shard_figures(0, state, many=many) == whole


def test_parts_of_a_shard_have_bounded_numbers_of_rows() -> None:
    spec, store = SPECS["tumbling"], MemoryRunStore()
    for step in range(5):
        stored = StoredOperator.load(spec, SCHEMA, RunLibrary(store, Cache()))
        keys = tuple((1 + step % 2, f"{step % 3}-{n}", 1) for n in range(400))
        stored.operator.add(rows(keys))
        stored.commit()
    read_runs: list[None] = []
    parts = list(live_rows(0, content(store), lambda: read_runs.append(None), many=100))
    counts = [part.rows.height for part in parts]
    assert sum(counts) == shard_figures(0, content(store)).windows == 1200
    assert len(counts) > 5
    assert max(counts) < 400
    assert len(read_runs) == len(store.names)
    different = [set(part.rows["k"]) for part in parts]
    assert sum(map(len, different)) == len(set.union(*different))


def test_windows_without_keys_are_read_in_parts() -> None:
    spec = pw.WindowOperator(window=pw.Tumbling("1 second"), event_time="ts", aggregates=[COUNT])
    store = MemoryRunStore()
    stored = StoredOperator.load(spec, SCHEMA, RunLibrary(store, Cache()))
    stored.operator.add(rows(tuple((n, "a", 1) for n in range(300))))
    stored.commit()
    parts = [part.rows.height for part in live_rows(0, content(store), many=50)]
    assert (sum(parts), len(parts)) == (300, 7)
    assert max(parts) < 100
    state = shard_figures(0, content(store), many=50)
    assert (state.windows, state.keys) == (300, 1)


def test_stored_states_of_format_1() -> None:
    seconds = {"processing_time": 3 * SECOND, "runs": 3}
    tumbling = ShardFigures(
        0,
        windows=3,
        keys=3,
        bytes=13_960,
        watermark=31 * SECOND,
        oldest_end=20 * SECOND,
        newest_end=40 * SECOND,
        **seconds,
    )
    assert shard_figures(0, content(read("tumbling", 1))) == tumbling
    session = ShardFigures(
        0,
        windows=4,
        keys=2,
        bytes=8_376,
        watermark=6 * SECOND,
        oldest_end=15 * SECOND,
        newest_end=50 * SECOND,
        **seconds,
    )
    assert shard_figures(0, content(read("session", 1))) == session
    assert shard_figures(0, content(read("global", 1))) == ShardFigures(
        0, windows=1, keys=1, runs=2, bytes=5_280, processing_time=2 * SECOND
    )


def test_a_user_defined_aggregate_need_not_be_at_hand() -> None:
    longest = pw.UserAggregate(
        "longest", init=str, accumulate=lambda s, v: max(s, v or ""), merge=max, finish=str, result="string"
    )
    spec = pw.WindowOperator(
        window=pw.Tumbling("10 seconds"), event_time="ts", aggregates=[longest("k").alias("w")]
    )
    store = MemoryRunStore()
    stored = StoredOperator.load(spec, SCHEMA, RunLibrary(store, Cache()))
    stored.operator.add(rows(((1, "a", 1), (11, "b", 1))))
    stored.commit()
    assert shard_figures(0, content(store)).windows == 2


def test_the_warning_about_data_loss_is_not_repeated(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.warns(pw.DataLossWarning):
        spec = pw.WindowOperator(
            window=pw.Tumbling("10 seconds"), event_time="ts", aggregates=[COUNT], trigger=pw.AfterCount(5)
        )
    store = MemoryRunStore()
    stored = StoredOperator.load(spec, SCHEMA, RunLibrary(store, Cache()))
    stored.operator.add(rows(((1, "a", 1),)))
    stored.commit()
    recwarn.clear()
    assert shard_figures(0, content(store)).windows == 1
    assert list(recwarn) == []


Damage = Callable[[dict[str, bytes], str], object]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "changed run": (
        lambda state, run: state.update({run: state[run][:-1] + b"x"}),
        r"a run whose checksum does not match \({run}\) \| runs never",
    ),
    "cut run": (
        lambda state, run: state.update({run: b"PWR"}),
        r"a run of 3 bytes \({run}\) \| a run starts with PWRN \| restore",
    ),
    "unknown run": (
        lambda state, run: state.update({run: state[run][:4] + struct.pack("<H", 9) + state[run][6:]}),
        r"a run of format 9 \({run}\) \| this version of panewise reads format 1 \| use the version",
    ),
    "lost run": (
        lambda state, run: state.pop(run),
        r"run {run} is missing \| every run that a manifest names exists \| restore",
    ),
    "changed manifest": (
        lambda state, _: state.update(manifest=b"{\xff"),
        r"manifest .* \| a manifest is the JSON that panewise wrote \| restore",
    ),
    "unknown manifest": (
        lambda state, _: state.update(manifest=b'{"panewise_state":3}'),
        r"a manifest of format 3 \| this version of panewise reads formats 1 to 2 \| use the version",
    ),
    "lost manifest": (
        lambda state, _: state.pop("manifest"),
        r"no manifest \| a shard with state has a manifest \| restore",
    ),
    "manifest without clocks": (
        lambda state, _: state.update(
            manifest=json.dumps(json.loads(state["manifest"]) | {"header": {"marks": []}}).encode()
        ),
        r"a header without 'processing_time' \| a manifest is the JSON that panewise wrote \| restore",
    ),
}


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_what_is_corrupt_is_refused_with_the_shard_and_the_run(name: str) -> None:
    state = content(read("session", 1))
    run = next(run for run in state if run != "manifest")
    damage, message = DAMAGES[name]
    damage(state, run)
    with pytest.raises(StateError, match="shard 5: " + message.replace("{run}", run)):
        shard_figures(5, state)


def test_partitions_of_windows_by_policies_are_counted_once() -> None:
    """A partition counts once, though each step stores another deadline as its end (semantics 10.14)."""
    spec = pw.StreamWindow.tumbling(
        time("10 seconds"), partition_by=["k"], partition_eviction=partition_age("30 seconds")
    )
    store = MemoryRunStore()
    for now in (1, 2, 3):
        stored = StoredOperator.load(spec, SCHEMA, RunLibrary(store, Cache()))
        stored.operator.advance(now * SECOND)
        stored.operator.add(rows(((0, "a", 1), (0, "b", now), (0, f"c{now}", 1))))
        stored.commit()
    told = {"manifest": (store.manifest() or "").encode()} | {name: store.run(name) for name in store.names}
    state = shard_figures(0, told)
    assert (state.windows, state.keys, state.runs, state.oldest_end) == (5, 5, 3, None)
