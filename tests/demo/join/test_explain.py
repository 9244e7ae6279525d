"""The tables, the picture and the page of the demo of joins."""

from pathlib import Path

import polars as pl
import pytest

from panewise.demo.join import explain
from panewise.demo.join.check import JoinOutputs
from panewise.demo.join.explain import MEASURES, WeatherMeasure, by_class

WIND = WeatherMeasure("wind", "miles an hour", (10, 20))


def test_classes_contain_their_lower_bounds() -> None:
    joined = pl.DataFrame(
        {"wind": [9.9, 10.0, 19.0, 20.0, None, 30.0], "dep_delay": [1.0, 2.0, None, None, 7.0, None]}
    )
    assert by_class(joined, WIND).rows() == [
        ("under 10", 1, 1.0, 0.0),
        ("10 to 20", 2, 2.0, 50.0),
        ("20 and more", 2, None, 100.0),
        ("unknown", 1, 7.0, 0.0),
    ]


def test_tables_count_each_flight(outputs: JoinOutputs) -> None:
    *measures, rows = explain.tables(outputs)
    flights = outputs.joined.height
    counted = [sum(int(str(row[1])) for row in table.rows) for table in measures]
    assert counted == [flights] * len(MEASURES)
    assert rows.rows[0][1:] == [flights, outputs.weather.counts["rows_in"].sum()]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.column)
def test_the_picture_leaves_out_flights_without_a_value(
    outputs: JoinOutputs, measure: WeatherMeasure
) -> None:
    unknown = outputs.joined[measure.column].null_count()
    assert unknown > 0
    panel = explain._panel(outputs.joined, measure)
    assert panel.classes["flights"].sum() == outputs.joined.height - unknown
    assert "unknown" not in panel.classes["name"]


def test_page_and_picture_are_written(outputs: JoinOutputs, tmp_path: Path) -> None:
    tables = explain.tables(outputs)
    explain.write(outputs, tmp_path, tables)
    assert (tmp_path / "delays.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<svg" in text
    assert all(table.caption in text for table in tables)
    assert "<script" not in text
    assert "<link" not in text
