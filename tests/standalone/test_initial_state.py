"""Operators in process that begin with an exported state (semantics 48.4, 48.8, 48.9)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.cli import main
from panewise.errors import StateError
from panewise.standalone import StandaloneOperator
from panewise.state.export_file import ExportFile

TYPES = {"event_time": "bigint", "v": "bigint", "k": "string"}
SPEC = pw.WindowOperator(
    keys=["k"],
    window=pw.Tumbling(10),
    trigger=pw.AfterWatermark(early=pw.Always()),
    aggregates=[F.sum("v").alias("total")],
)


def operator(**options: Any) -> StandaloneOperator:
    return StandaloneOperator(SPEC, TYPES, **options)


def exported(file: Path, **options: Any) -> Path:
    with operator(**options) as first:
        for number in range(6):
            position = ("partition", number)
            first.add_message(
                {"event_time": number * 4, "v": number, "k": "ab"[number % 2]}, position=position
            )
        first.drain()
        first.export_state(file)
    return file


@pytest.mark.parametrize("stored", [False, True])
def test_an_operator_continues_with_positions_counts_and_numbers(tmp_path: Path, stored: bool) -> None:
    """semantics 48.4, 48.8"""
    file = exported(tmp_path / "state", **({"store": tmp_path / "first"} if stored else {}))
    with operator(initial_state=file, **({"store": tmp_path / "second"} if stored else {})) as second:
        assert second.counts["input"].applied == 6
        assert second.positions() == [("partition", 5)]
        second.add_message({"event_time": 21, "v": 100, "k": "b"})
        (emission,) = second.drain()
        assert emission.rows["total"].to_list() == [105]
        assert emission.step >= 6


def test_a_store_begins_once(tmp_path: Path) -> None:
    """semantics 48.9: with the same file it goes on, even if there are further rows in it."""
    file, store = exported(tmp_path / "state"), tmp_path / "store"
    with operator(initial_state=file, store=store) as second:
        second.add_message({"event_time": 30, "v": 1, "k": "c"})
        second.flush()
    with operator(initial_state=file, store=store) as third:
        assert "c" in third.live()["k"].to_list()
        third.export_state(tmp_path / "other")
    with pytest.raises(StateError, match="where a state exists"):
        operator(initial_state=tmp_path / "other", store=store)
    with operator(store=tmp_path / "fresh") as fresh:
        fresh.add_message({"event_time": 1, "v": 1, "k": "a"})
        fresh.flush()
    with pytest.raises(StateError, match="where a state exists"):
        operator(initial_state=file, store=tmp_path / "fresh")


def test_a_store_that_has_begun_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 48.9: nor is more than the head of the file read, and a change is taken over (47.10)."""
    file, store = exported(tmp_path / "state"), tmp_path / "store"
    operator(initial_state=file, store=store).close()
    monkeypatch.setattr(ExportFile, "open", None)
    later = replace(SPEC, aggregates=[*SPEC.aggregates, F.count().alias("n")])
    with StandaloneOperator(later, TYPES, initial_state=file, store=store) as changed:
        assert changed.live().height == 5
        changed.flush()
    file.unlink()
    with StandaloneOperator(later, TYPES, initial_state=file, store=store) as third:
        assert third.live().height == 5


@pytest.mark.parametrize("stored", [False, True])
def test_a_state_that_has_got_another_aggregate(tmp_path: Path, stored: bool) -> None:
    """semantics 47.3, 48.7: it is null in panes with rows that it has not seen."""
    more = replace(SPEC, aggregates=[*SPEC.aggregates, F.count().alias("n")])
    with operator(store=tmp_path / "first") as first:
        first.add_message({"event_time": 1, "v": 1, "k": "a"})
        first.flush()
    file = tmp_path / "state"
    with StandaloneOperator(more, TYPES, store=tmp_path / "first") as changed:
        changed.add_message({"event_time": 2, "v": 2, "k": "a"})
        changed.export_state(file)
    options: dict[str, Any] = {"store": tmp_path / "second"} if stored else {}
    with StandaloneOperator(more, TYPES, initial_state=file, **options) as second:
        second.add_message({"event_time": 3, "v": 3, "k": "a"})
        second.add_message({"event_time": 3, "v": 3, "k": "b"})
        rows = [row for emission in second.drain() for row in emission.rows.to_dicts()]
        assert [(row["k"], row["total"], row["n"]) for row in rows] == [("a", 6, None), ("b", 3, 1)]
        second.export_state(tmp_path / "again")
    if stored:
        with StandaloneOperator(more, TYPES, **options) as third:
            third.add_message({"event_time": 4, "v": 1, "k": "a"})
            assert [row["n"] for one in third.drain() for row in one.rows.to_dicts()] == [None]
    StandaloneOperator(more, TYPES, initial_state=tmp_path / "again").close()


def test_an_export_replaces_no_file(tmp_path: Path) -> None:
    """semantics 48.4"""
    file = exported(tmp_path / "state")
    with operator() as other:
        with pytest.raises(StateError, match="exists"):
            other.export_state(file)
        other.export_state(file, replace=True)
    with operator(initial_state=file) as empty:
        assert empty.live().is_empty()


def test_the_command_shows_an_exported_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """semantics 48.3"""
    file = exported(tmp_path / "state")
    assert main(["state", str(file), "--windows"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert main(["state", str(file)]) == 0
    assert "1 of 1 shards contain state" in capsys.readouterr().out
    assert main(["state", str(file), "--batch", "1"]) == 2
    assert "an exported state is that after one micro-batch" in capsys.readouterr().err
    file.write_bytes(file.read_bytes()[:-300])
    assert main(["state", str(file)]) == 2
    assert "export the state again" in capsys.readouterr().err
