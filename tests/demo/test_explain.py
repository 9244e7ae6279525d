"""The picture, the page and the tables of the demo."""

import re
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from panewise.demo import explain
from panewise.demo.check import PaneOutputs, verify
from panewise.demo.show import findings_table


def test_the_scene_shows_every_kind_of_thing(arrived: pl.DataFrame, outputs: PaneOutputs) -> None:
    scene = explain.scene(arrived, outputs)
    assert set(scene.panes["timing"]) == {"EARLY", "ON_TIME", "LATE"}
    assert set(scene.panes["op"]) == {"+", "-"}
    assert set(scene.rows["late"]) == {True, False}
    assert scene.watermarks.height > 0
    assert (scene.watermarks["since"] < scene.watermarks["until"]).all()


def test_a_pane_stands_at_the_end_of_its_batch() -> None:
    def at(hour: int) -> datetime:
        return datetime(2013, 3, 8, hour, tzinfo=UTC)

    clock = pl.DataFrame({"batch_id": [7, 8], "since": [at(1), at(2)], "arrival": [at(2), at(3)]})
    panes = pl.DataFrame(
        [
            (0, "EARLY", "+", 7),
            (0, "EARLY", "-", 8),
            (1, "ON_TIME", "+", 8),
            (1, "ON_TIME", "-", 8),
            (2, "LATE", "+", 8),
        ],
        schema=["index", "timing", "op", "batch_id"],
        orient="row",
    ).with_columns(window_start=pl.lit(at(0)))
    fired = explain._fired(panes, clock).sort("index", "op", descending=[False, False])
    assert fired.select("index", "op", "arrival").rows() == [
        (0, "+", at(2)),
        (0, "-", at(3)),  # retracted for the on-time pane
        (1, "+", at(3)),
        (1, "-", at(3)),  # retracted for the late pane
        (2, "+", at(3)),
    ]


def test_page_and_picture_are_written(arrived: pl.DataFrame, outputs: PaneOutputs, tmp_path: Path) -> None:
    shown = [*explain.tables(outputs), findings_table(verify(arrived, outputs))]
    explain.write(arrived, outputs, tmp_path, shown)
    assert (tmp_path / "panes.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<svg" in text
    assert "sum over + less sum over −" in text
    assert "EWR" in text


def test_the_page_needs_no_network(arrived: pl.DataFrame, outputs: PaneOutputs, tmp_path: Path) -> None:
    explain.write(arrived, outputs, tmp_path, [])
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<link" not in text
    assert "@import" not in text
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', text) == []
    assert set(re.findall(r"url\((?!#)[^)]*\)", text)) == set()


def test_tables_add_up(outputs: PaneOutputs) -> None:
    panes, rows = explain.tables(outputs)
    *by_timing, total = panes.rows
    assert [sum(column) for column in zip(*(row[1:] for row in by_timing), strict=True)] == list(total[1:])
    number = {row[0]: row[1] for row in rows.rows}
    assert number["rows in"] == sum(number[part] for part in ("applied", "late", "invalid", "replays"))


def test_late_examples_are_in_local_time(outputs: PaneOutputs) -> None:
    row = {"carrier": "UA", "flight": 15, "origin": "EWR", "dest": "HNL"}
    times = {
        "scheduled": datetime(2013, 3, 8, 14, tzinfo=UTC),
        "known": datetime(2013, 3, 8, 18, 30, tzinfo=UTC),
    }
    late = pl.DataFrame({"row": [row | times], "reason": ["expired"], "late_by": [1]})
    table = explain.late_examples(PaneOutputs(outputs.panes, late, outputs.invalid, outputs.counts))
    assert table.rows == [["UA 15 EWR–HNL", "08 March 09:00", "08 March 13:30", "expired"]]
