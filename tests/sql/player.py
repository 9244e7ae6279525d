"""Plays transcripts of SQL: the text is compiled, and its stages run in the process, or on Spark.

Expressions of Spark are computed by Polars here, so the transcripts use those that both have. Times are
written as "12:05", on 2024-01-01 in UTC.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from panewise.spec import Specification, counted
from panewise.sql import compile_sql
from panewise.sql.expressions.column_syntax import star_of
from panewise.sql.expressions.spark_names import output_name
from panewise.sql.joins import resolved
from panewise.sql.stages import (
    Computed,
    DeduplicateStage,
    JoinStage,
    OurStage,
    OutputColumn,
    OverStage,
    QueryStage,
    Ranked,
    RowsStage,
    TableStage,
    WindowsStage,
    walk,
)
from panewise.testing import run
from tests.transcripts.documents import read

SingleStage: TypeAlias = WindowsStage | OverStage | DeduplicateStage
FOLDER = Path(__file__).resolve().parent / "transcripts"
NOON = datetime(2024, 1, 1, tzinfo=UTC)
CLOCK = re.compile(r"(-?)(\d+):(\d\d)(?::(\d\d)(?:\.(\d{6}))?)?")
END = re.compile(r"\(window_end - INTERVAL '0.000001' SECOND\)")


@cache
def documents() -> list[tuple[str, dict[str, Any]]]:
    """Returns the transcripts of all files, each with the name of its file. They are read once."""
    return [(path.stem, document) for path in sorted(FOLDER.glob("*.yaml")) for document in read(path)]


def instant(text: Any) -> Any:
    """Returns a time that is written as "12:05" as a datetime; other values as they are."""
    if isinstance(text, dict):
        return {name: instant(value) for name, value in text.items()}
    found = CLOCK.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return text
    hours, minutes, seconds, fraction = (int(one or 0) for one in found.groups()[1:])
    length = timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=fraction)
    return NOON - length if found[1] else NOON + length


def microseconds(value: Any) -> Any:
    return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def events_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the events of a document, which may have only rows: then these come, and the input ends."""
    rows = {"rows": document["rows"]} if "rows" in document else document.get("tables", {})
    given = document.get("events") or [rows, {"finish": True}]
    return [{name: _value(name, value) for name, value in event.items()} for event in given]


def _names(all_rows: list[list[dict[str, Any]]]) -> list[str]:
    return list(dict.fromkeys(name for rows in all_rows for row in rows for name in row))


def _value(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [{column: instant(one) for column, one in row.items()} for row in value]
    return instant(value)


class Player:
    """Runs the stages of one text in the process."""

    def __init__(self, stage: QueryStage, runtime: str) -> None:
        self.stage, self.runtime = stage, runtime

    def play(self, events: Iterable[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        """Returns the rows that each event emits."""
        after: list[Any] = []
        stage = self.stage
        while not isinstance(stage, (WindowsStage, OverStage, DeduplicateStage)):
            assert isinstance(stage, RowsStage), stage
            after.append(stage)
            stage = stage.input
        outputs = self._operator(stage, events)
        for one in reversed(after):
            outputs = [self.projected(rows, one.where, one.outputs) for rows in outputs]
        return outputs

    def _operator(
        self, stage: SingleStage, events: Iterable[Mapping[str, Any]]
    ) -> list[list[dict[str, Any]]]:
        if any(isinstance(inner, OurStage) for inner in walk(stage.input)):
            return self._second(stage, events)
        made = []
        for event in events:
            if "rows" in event:
                rows = self.rows_of(stage.input, event["rows"])
                rows = self.projected(rows, stage.where, None)
                rows = _exploded(rows, stage)
                made.append({"op": "add", "rows": list(map(_plain, self._computed(rows, stage.computed)))})
            elif "watermark" in event:
                made.append({"op": "watermark", "to": microseconds(event["watermark"])})
            elif "clock" in event:
                made.append({"op": "clock", "to": microseconds(event["clock"])})
            else:
                made.append({"op": "finish"})
        outputs = [output["panes"] for output in run(stage.spec, made, self.runtime)]
        return [self._panes(stage, rows) for rows in outputs]

    def _second(self, stage: SingleStage, events: Iterable[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        """Returns the rows of an operator over the rows of another one."""
        given, before = list(events), replace(stage, input=TableStage("t", "t", None))
        joined = isinstance(stage.input, JoinStage)
        first = play_join(stage.input, given, self.runtime) if joined else self._before(stage.input, given)
        both: list[Mapping[str, Any]] = []
        for rows, event in zip(first, given, strict=True):
            advances = {"watermark", "clock", "finish"} & event.keys()
            both += [{"rows": rows}, event if advances else {"rows": []}]
        outputs = self._operator(before, both)
        return [one + other for one, other in zip(outputs[::2], outputs[1::2], strict=True)]

    def _before(self, stage: QueryStage, events: list[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        return Player(stage, self.runtime).play(events)

    def rows_of(self, stage: QueryStage, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if isinstance(stage, TableStage):
            return rows
        assert isinstance(stage, RowsStage), stage
        return self.projected(self.rows_of(stage.input, rows), stage.where, stage.outputs)

    def _computed(self, rows: list[dict[str, Any]], computed: tuple[Computed, ...]) -> list[dict[str, Any]]:
        if not rows or not computed:
            return rows
        structs = {one.name: one.text for one in computed if one.text.startswith("struct(")}
        plain = [_expr(one.text).alias(one.name) for one in computed if one.name not in structs]
        made = _frame(rows).with_columns(plain).to_dicts()
        return [
            {**row, **{name: self._struct(text, before) for name, text in structs.items()}}
            for row, before in zip(made, rows, strict=True)
        ]

    def _struct(self, text: str, row: dict[str, Any]) -> dict[str, Any]:
        """Returns a struct of columns, `*` and expressions with names."""
        found: dict[str, Any] = {}
        for part in _arguments(text):
            expr, _, name = part.rpartition(" AS ") if " AS " in part else (part, "", "")
            if part == "*":
                found |= _plain(row)
            elif expr.startswith("struct("):
                found[name.strip("`")] = self._struct(expr, row)
            else:
                found[name.strip("`") or expr.strip("`")] = _plain(
                    {"": _frame([row]).select(_expr(expr)).item()}
                )[""]
        return found

    def _panes(self, stage: SingleStage, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        windows = isinstance(stage, OverStage) or (
            isinstance(stage, WindowsStage) and not counted(stage.spec.ports["input"].window)
        )
        times = {*({"window_start", "window_end"} if windows else ()), *_event_times(stage)}
        times |= {name for name in stage.spec.keys if name.endswith(" of the rows")}
        made = [{name: _time(name, value, times) for name, value in row.items()} for row in rows]
        ranked = stage.ranked if isinstance(stage, WindowsStage) else None
        if ranked is not None:
            return [one for row in made for one in _ranked(row, ranked)]
        struct = stage.struct if isinstance(stage, WindowsStage) else None
        for row in made if struct is not None else ():
            row[struct or ""] = {"start": row["window_start"], "end": row["window_end"]}
        new = list(stage.new_columns) if isinstance(stage, OverStage) else []
        if isinstance(stage, DeduplicateStage):
            new = ["op", *(one.name for one in stage.computed)]
        return self.projected(made, stage.having, stage.outputs, new)

    def projected(
        self,
        rows: list[dict[str, Any]],
        where: str | None,
        outputs: tuple[OutputColumn, ...] | None,
        new: Iterable[str] = (),
    ) -> list[dict[str, Any]]:
        if not rows or (where is None and outputs is None):
            return rows
        df = _frame(rows)
        df = df if where is None else df.filter(_expr(where))
        if outputs is None:
            return df.to_dicts()
        columns: list[pl.Expr] = []
        for one in outputs:
            star = star_of(one.text)
            if star is not None:
                hidden = {*new, *_OWN, *star.without}
                columns += [pl.col(name) for name in df.columns if name not in hidden]
            else:
                columns.append(_expr(one.text).alias(output_name(one)))
        # Polars makes one row of constants alone.
        return df.select(pl.int_range(pl.len()).alias("__place"), *columns).drop("__place").to_dicts()


_OWN = ("processing_time",)
_INSTANTS = {"ts", "window_start", "window_end", "window_time"}


def _arguments(text: str) -> Iterator[str]:
    """Yields the arguments of a call of `struct`."""
    depth, part = 0, ""
    for character in text.removeprefix("struct(")[:-1]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += character
    yield part.strip()


def _event_times(stage: SingleStage) -> tuple[str, ...]:
    if isinstance(stage, DeduplicateStage):
        return () if stage.spec.event_time is None else (stage.spec.event_time,)
    return tuple(stage.spec.ports["input"].time_columns)


def _ranked(row: dict[str, Any], ranked: Ranked) -> Iterator[dict[str, Any]]:
    """Yields a row for each place of the lists of a pane."""
    lists = [row[name] or [] for name in ranked.lists]
    places = _places(row, ranked)
    for number, values in enumerate(zip(*lists, strict=True)):
        place = places[number]
        if ranked.ties is not None and place >= ranked.ties.n:
            continue
        fields = values[0] if ranked.lists == ("rows",) else dict(zip(ranked.lists, values, strict=True))
        if ranked.ties is not None:
            fields = {name: value for name, value in fields.items() if name != ranked.ties.field}
        kept = [(name, _time(name, value, _INSTANTS)) for name, value in fields.items()]
        others = [(name, _frame([row]).select(_expr(text)).item()) for name, text in ranked.others]
        rank = [] if ranked.rank is None else [(ranked.rank, place + 1)]
        op = {"op": row["op"]} if ranked.retracts else {}
        yield dict(ranked.in_order(kept, others, rank)) | op


def _places(row: dict[str, Any], ranked: Ranked) -> list[int]:
    """Returns the places of the rows of a pane, from 0; equal rows have equal ones with RANK."""
    if ranked.ties is None:
        return list(range(len(row[ranked.lists[0]] or [])))
    fields = [value[ranked.ties.field] for value in row["rows"] or []] if not ranked.ties.lists else []
    orders = fields or list(zip(*(row[name] or [] for name in ranked.ties.lists), strict=True))
    different = [order for number, order in enumerate(orders) if order not in orders[:number]]
    return [(different if ranked.ties.function == "dense_rank" else orders).index(order) for order in orders]


def _exploded(rows: list[dict[str, Any]], stage: SingleStage) -> list[dict[str, Any]]:
    """Returns the rows, each for every set of GROUPING SETS."""
    exploded = stage.exploded if isinstance(stage, WindowsStage) else None
    if exploded is None:
        return rows
    numbers = [int(one) for one in re.findall(r"\d+", exploded.text)]
    return [{**row, exploded.name: number} for row in rows for number in numbers]


def _time(name: str, value: Any, times: set[str]) -> Any:
    if name not in times or value is None:
        return value
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: microseconds(value) if isinstance(value, datetime) else value for name, value in row.items()
    }


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


def _expr(text: str) -> pl.Expr:
    """Returns an expression of Polars for a text of Spark's."""
    if END.fullmatch(text):
        return pl.col("window_end") - pl.duration(microseconds=1)
    parts = re.fullmatch(r"`(\w+)`\.`(\w+)`", text)
    if parts is not None:
        return pl.col(parts[1]).struct.field(parts[2])
    text = re.sub(r"`([^`]*)`", lambda found: '"' + found[1].replace('"', '""') + '"', text)
    named = re.sub(r'"[^"]*"|\b[a-z]\.(\w+)', lambda found: found[1] or found[0], text)
    return pl.sql_expr(named)


def play_join(
    stage: JoinStage, events: list[dict[str, Any]], runtime: str, time: str | None = None
) -> list[list[dict[str, Any]]]:
    """Returns the rows of a join after each event. The rows of an event are by the names of the tables.

    `time` is the column of the event time that the tables have, if the text does not name it.
    """
    if isinstance(stage.left, JoinStage):
        return _of_nested(stage, play_join(stage.left, events, runtime), events, runtime)
    player, given = Player(stage, runtime), dict[str, list[list[dict[str, Any]]]]()
    for side, name, inner in zip(("left", "right"), stage.names, (stage.left, stage.right), strict=True):
        rows = [event.get(name, []) for event in events]
        given[side] = [player.rows_of(inner, one) for one in rows]
    columns = {side: _names(all_rows) for side, all_rows in given.items()}
    made = resolved(stage, columns, (stage.times[0] or time, stage.times[1] or time))
    played: list[dict[str, Any]] = []
    for number, event in enumerate(events):
        if "watermark" in event:
            played.append({"op": "watermark", "to": microseconds(event["watermark"])})
        elif "finish" in event:
            played.append({"op": "finish"})
        elif "clock" in event:
            played.append({"op": "clock", "to": microseconds(event["clock"])})
        else:
            rows = {side: list(map(_plain, all_rows[number])) for side, all_rows in given.items()}
            played.append({"op": "add", "rows": rows})
    outputs = [output["panes"] for output in run(made.spec, played, runtime)]
    known = ("ts", *filter(None, stage.times))
    times = {one.name for one in made.spec.select or () if one.column in known}
    times |= {"window_start", "window_end", "join_time"}
    shown = [
        [{name: _time(name, value, times) for name, value in row.items()} for row in rows] for rows in outputs
    ]
    for condition in made.where:
        shown = [player.projected(rows, condition, None) for rows in shown]
    return [player.projected(rows, None, made.outputs) for rows in shown]


def _of_nested(
    stage: JoinStage, left: list[list[dict[str, Any]]], events: list[dict[str, Any]], runtime: str
) -> list[list[dict[str, Any]]]:
    """Returns the rows of a join of a join after each event: what this emits comes before the event's own."""
    both: list[dict[str, Any]] = []
    for rows, event in zip(left, events, strict=True):
        both += [{stage.names[0]: rows}, event]
    outer = replace(stage, left=TableStage("left", "left", None))
    outputs = play_join(outer, both, runtime)
    return [one + other for one, other in zip(outputs[::2], outputs[1::2], strict=True)]


def play(document: Mapping[str, Any], runtime: str) -> None:
    """Plays a document, and compares the rows after each event."""
    script = compile_sql(document["sql"], update=document.get("update"))
    events = events_of(document)
    if isinstance(script.stage, JoinStage):
        outputs = play_join(script.stage, events, runtime, document.get("time"))
    else:
        outputs = Player(script.stage, runtime).play(events)
    if "events" not in document:
        together = _sorted(row for rows in outputs for row in rows)
        assert together == _sorted(_value("expect", document["expect"])), f"{document['name']}: {together}"
        return
    for number, (event, rows) in enumerate(zip(events, outputs, strict=True)):
        found, wanted = _sorted(rows), _sorted(event.get("expect", []))
        assert found == wanted, f"{document['name']}: events[{number}]: {found}"


def _sorted(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted(repr({name: _rounded(row[name]) for name in sorted(row)}) for row in rows)


def _rounded(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return float(f"{value:.9g}") if isinstance(value, (float, int)) and not isinstance(value, bool) else value


def spec_of(sql: str) -> Specification:
    """Returns the specification of the last operator of a text."""
    stage = compile_sql(sql).last
    assert stage is not None
    return stage.spec
