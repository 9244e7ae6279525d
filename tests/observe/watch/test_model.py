"""Tests of what the page shows of a journal."""

from pathlib import Path
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.observe.entries import Ended, Started
from panewise.observe.journal import Journal
from panewise.observe.micro_batch import BatchFigures, MicroBatch
from panewise.observe.watch.model import WatchModel
from tests.observe.played import Played, micros, played

SUM: Any = {"keys": ["k"], "event_time": "ts", "aggregates": [F.sum("v").alias("s")]}
MINUTES = pw.WindowOperator(window=pw.Tumbling("1 minute"), allowed_lateness="1 minute", **SUM)


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    written = Journal(tmp_path / "journal")
    yield written
    written.close()


def model_of(journal: Journal, *entries: Any) -> WatchModel:
    for entry in entries:
        journal.add(entry)
    return WatchModel(journal.directory)


def only(view: dict[str, Any]) -> dict[str, Any]:
    (query,) = view["queries"]
    (operator,) = query["operators"]
    return operator  # type: ignore[no-any-return]


def cells(view: dict[str, Any]) -> list[list[str]]:
    """Returns the tooltips of the cells of each row, the newest row first."""
    rows: dict[str, list[str]] = {}
    picture = only(view)["picture"]
    for group in picture.split("<g>")[1:]:
        if "<rect" in group:
            title, rest = group.split("</title>", 1)
            y = rest.split(' y="', 1)[1].split('"', 1)[0]
            live = " live" if 'class="open"' in rest else ""
            rows.setdefault(y, []).append(title.removeprefix("<title>").replace("2024-01-01 ", "") + live)
    return [rows[y] for y in sorted(rows, key=float)]


def test_windows_open_fire_and_expire(journal: Journal) -> None:
    """A window is live from its first change until the horizon reaches its end (semantics 15.21)."""
    entries = played(MINUTES, [([(5, "a", 1)], 0), ([], 30), ([], 60), ([], 90), ([], 120), ([], 150)])
    assert cells(model_of(journal, *entries).view()) == [
        ["window 12:00:00 to 12:01:00 live"],  # it expires here
        ["window 12:00:00 to 12:01:00 live"],
        ["window 12:00:00 to 12:01:00\non-time pane: 1\nkeys that changed it: 1 live"],
        ["window 12:00:00 to 12:01:00 live"],
        ["window 12:00:00 to 12:01:00\nkeys that changed it: 1 live"],
    ]


LIMITED = pw.WindowOperator(window=pw.Tumbling("1 minute"), max_windows=pw.MaxWindows(1), **SUM)
EARLY: Any = [([(5, "a", 1), (6, "b", 1)], 0), ([(65, "a", 1)], 0), ([(7, "b", 1)], 0), ([(66, "b", 1)], 0)]


def test_a_window_that_expires_early(journal: Journal) -> None:
    """It is live until it has expired early in all keys, before the watermark reaches its end (15.28)."""
    opened, second = "window 12:00:00 to 12:01:00", "window 12:01:00 to 12:02:00"
    entries = played(LIMITED, [*EARLY, ([], 0)])
    view = model_of(journal, *entries).view()
    assert cells(view) == [
        [f"{second} live"],
        [f"{opened}\nearly pane: 1 live", f"{second}\nkeys that changed it: 1 live"],
        [f"{opened}\nkeys that changed it: 1 live", f"{second} live"],
        [f"{opened}\nearly pane: 1 live", f"{second}\nkeys that changed it: 1 live"],
        [f"{opened}\nkeys that changed it: 2 live"],
    ]
    assert dict(only(view)["figures"])["live windows"] == "1"


def test_a_window_of_unknown_keys(journal: Journal) -> None:
    """The journal begins after its first row, so it may be that of further keys (15.28)."""
    entries = played(LIMITED, [*EARLY[:1], ([(7, "a", 1)], 0), *EARLY[1:]])
    figures = only(model_of(journal, *entries[1:]).view())["figures"]
    assert dict(figures)["live windows"] == "2"


def test_a_journal_that_is_written(journal: Journal) -> None:
    """Each view has what was written until then, and another revision (semantics 15.20, 15.21)."""
    model, operator = WatchModel(journal.directory), Played(MINUTES)
    empty = model.view()
    assert (empty["revision"], empty["queries"], empty["exists"]) == (0, [], True)
    revisions = []
    for n in range(3):
        journal.add(operator.micro_batch([(60 * n, "a", 1)], 60 * n))
        revisions.append(model.view()["revision"])
    assert len({0, *revisions}) == 4
    assert model.view() is model.view()
    assert WatchModel(journal.directory).view() == model.view()  # as after a restart of `panewise watch`


def test_queries_that_end_fail_and_start_again(journal: Journal) -> None:
    """What a query has shown stays after its end, and it continues there (semantics 15.20)."""
    operator = Played(MINUTES)
    first, second = (operator.micro_batch([(60 * n, "a", 1)], 60 * n) for n in range(2))
    model = model_of(journal, Started("played", "1", 1), first)
    assert model.view()["queries"][0]["state"] == "running"
    journal.add(Ended("played", "1", micros(60), "out of memory"))
    failed = model.view()["queries"][0]
    assert (failed["state"], failed["error"], failed["at"]) == ("failed", "out of memory", micros(60))
    assert "#0" in failed["operators"][0]["picture"]
    journal.add(Started("played", "2", micros(70)))
    journal.add(second)
    again = model.view()["queries"][0]
    assert (again["state"], again["error"]) == ("running", None)
    assert {"#0", "#1"} <= {text[:2] for text in again["operators"][0]["picture"].split('">')}
    journal.add(Ended("played", "2", micros(90)))
    journal.add(Started("other", "3", micros(90)))
    assert [(query["name"], query["state"]) for query in model.view()["queries"]] == [
        ("other", "running"),
        ("played", "ended"),
    ]


def test_several_operators_of_a_query(journal: Journal) -> None:
    """Each has a picture of its own (semantics 15.21)."""
    over = pw.OverOperator(
        keys=["k"], event_time="ts", columns=[pw.OverColumn(F.sum("v").alias("t"), pw.Frame("rows", -2, 0))]
    )
    first, second = Played(over), Played(MINUTES, name="panewise_2")
    reports = [operator.micro_batch([(5, "a", 1)], 60) for operator in (first, second)]
    both = MicroBatch("played", 0, 2, 0.5, {**reports[0].operators, **reports[1].operators}, micros(0))
    (query,) = model_of(journal, both).view()["queries"]
    assert [(operator["name"], operator["family"]) for operator in query["operators"]] == [
        ("panewise", "over"),
        ("panewise_2", "windows"),
    ]
    assert ["live window" in operator["picture"] for operator in query["operators"]] == [False, True]


def test_figures(journal: Journal) -> None:
    """Rates, watermark, state, late rows by reason, shards and keys (semantics 15.21)."""
    entries = played(
        MINUTES, [([(5, "a", 1), (6, "b", 1)], 0), ([(200, "a", 1)], 180), ([(7, "a", 1)], 190)], keys=3
    )
    operator = only(model_of(journal, *entries).view())
    figures = dict(operator["figures"])
    # 4 rows in the 20.5 s from the beginning of the first to the end of the last micro-batch
    assert figures["rows in per s"] == "0.2"
    assert figures["watermark"] == "2024-01-01 12:03:10"
    assert (figures["live windows"], figures["late rows"], figures["invalid rows"]) == ("1", "1", "0")
    assert operator["late"] == [("expired", 1)]
    assert [(bar["name"], bar["share"]) for bar in operator["shards"]] == [("0", 0)]
    assert [(bar["name"], bar["texts"]) for bar in operator["keys"]] == [("a", ["1"])]
    assert operator["rates"]["rows in per s"] == [4.0, 2.0, 2.0]
    assert operator["notes"] == []


def test_a_query_without_activity(journal: Journal) -> None:
    """It was started before `observe`: its counts are shown (semantics 15.16, 15.21)."""
    figures = BatchFigures({"rows_in": 5, "panes": 2, "late": 1}, timings={"EARLY": 2}, state={"shards": 1})
    operator = only(model_of(journal, MicroBatch("early", 3, 5, 0.5, {"panewise": figures})).view())
    assert dict(operator["figures"])["rows in per s"] == "10"
    assert "#3" in operator["picture"]
    assert operator["notes"] == [
        "Windows and shards are shown for queries that were started while the journal was written."
    ]


def test_many_queries(journal: Journal) -> None:
    """The page is bounded: those that ended first are forgotten (semantics 15.21)."""
    for n in range(30):
        journal.add(Started(f"q{n}", str(n), n))
        if n < 15:
            journal.add(Ended(f"q{n}", str(n), n))
    names = [query["name"] for query in WatchModel(journal.directory).view()["queries"]]
    assert set(names) == {f"q{n}" for n in range(10, 30)}


def test_many_windows_and_micro_batches(journal: Journal) -> None:
    """The page is bounded, also for a journal of any length (semantics 15.21)."""
    spec = pw.WindowOperator(window=pw.Session("1 second"), **SUM)
    batches = [([(1000 * n + 3 * m, f"{m}", 1) for m in range(100)], None) for n in range(4)]
    small = played(MINUTES, [([(n, "a", 1)], n) for n in range(70)])
    model = model_of(journal, *played(spec, batches), *small)
    picture = only(model.view())["picture"]
    assert picture.count("micro-batch") == 1
    assert picture.count("#") < 40
    assert len(picture) < 1_000_000
