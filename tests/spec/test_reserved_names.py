"""Names that begin with `__`: other names inside the operator, wherever a specification names a column."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import SpecError, StreamWindow, WindowListener, WindowOperator
from panewise import functions as F
from panewise.spec.codec import to_dict
from panewise.spec.conditions.terms import left, right
from panewise.spec.family_parts import parts
from panewise.spec.fields import silently
from panewise.spec.reserved_names import inner_names, renamed
from panewise.streamwindow import count, delta, punct
from tests.drawn import ROWS
from tests.engine.effort import examples

LAST_TWO = pw.Frame("rows", -1, 0)


def function_of(row: dict[str, Any]) -> list[tuple[int, int]]:
    return [(row["__w"], row["__w"] + 10)]


SPECS = {
    "a window operator": WindowOperator(
        window=pw.Session("__gap"),
        event_time="__time",
        keys=["__k", "plain"],
        position=pw.Position("__partition", "__offset", "__source"),
        watermark=pw.Inputs(["__one", "two"], column="__input"),
        trigger=pw.AfterWatermark(early=pw.AfterAny(pw.OnPunctuation("__flag"), pw.OnDelta("__d", 2))),
        aggregates=[F.max_by("__v", "__by").alias("__best"), F.count_distinct("__v").alias("n")],
        delta=["__v", "plain"],
    ),
    "an evictor and an order": WindowOperator(
        window=pw.Global(),
        trigger=pw.Repeatedly(pw.AfterCount(2)),
        evictor=pw.DeltaEvictor("__d", 3),
        order=["__o"],
        aggregates=[F.sum("__v")],
    ),
    "custom windows": WindowOperator(
        window=pw.Custom.each(function_of, name="__mine", columns=["__w"]),
        aggregates=[F.count().alias("__n")],
    ),
    "a chain": WindowOperator(
        window=pw.Tumbling(10), keys=["__k", "b"], aggregates=[F.sum("v").alias("__s")]
    ).then(keys=["__k"], aggregates=[F.max("__s").alias("__m")]),
    "an OVER operator": pw.OverOperator(
        keys=["__k"],
        event_time="__time",
        order=["__o"],
        columns=[
            pw.OverColumn(F.sum("__v").alias("__s"), LAST_TWO),
            pw.OverColumn(F.lag("__v", 1, "__default").alias("before")),
        ],
    ),
    "tumbling policy windows": StreamWindow.tumbling(
        punct("__mark"), partition_by=["__k"], columns=["__v"], order=["__o"]
    ),
    "sliding policy windows": StreamWindow.sliding(
        delta("__a", 3),
        delta("__b", 3),
        aggregates=[F.sum("__v").alias("__s")],
        position=pw.Position("__p", "__q"),
    ),
}
NO_COLUMNS = {"__one", "__mine", "__default"}  # the name of an input, that of a function, and a value


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize("kind", SPECS)
def test_every_column_gets_another_name(kind: str) -> None:
    """Only names of columns change, and all of them do (semantics 35.4)."""
    spec = SPECS[kind]
    reserved = {text for text in texts(to_dict(spec)) if text.startswith("__")} - NO_COLUMNS
    names = inner_names([], spec)
    assert set(names) == reserved
    assert len(set(names.values())) == len(names)
    made = renamed(spec, names)
    assert {text for text in texts(to_dict(made)) if text.startswith("__")} <= NO_COLUMNS
    assert set(texts(to_dict(made))) >= set(names.values())
    assert not any(name.startswith("__") for name in made.columns_read)
    back = renamed(made, {inner: name for name, inner in names.items()})
    assert to_dict(back) == to_dict(spec)


def test_every_column_of_a_join_gets_another_name() -> None:
    """Columns of both sides, of the condition and of emitted rows, and prefixes (semantics 35.4)."""
    sides = {
        "left": pw.Side(keys=["__k"], event_time="__t", order=["__o"], prefix="__l_"),
        "right": pw.Side(keys=["k"], position=pw.Position("__p", "__q")),
    }
    spec = pw.JoinOperator(
        **sides, match=pw.Interval(0, 5), condition=(left("__v") > "__a") & right("__w").is_in(["__b"])
    )
    names = inner_names(["__x"], spec)
    assert set(names) == {"__x", "__k", "__t", "__o", "__l_", "__p", "__q", "__v", "__w"}
    made = renamed(spec, names)
    assert {text for text in texts(to_dict(made)) if text.startswith("__")} == {"__a", "__b"}  # values
    assert renamed(made, {inner: name for name, inner in names.items()}) == spec
    chosen = pw.JoinOperator(
        left=pw.Side(keys=["k"]),
        right=pw.Side(keys=["k"]),
        match=pw.Interval(0, 5),
        select=[pw.Selected("left", "__v"), pw.Selected("right", "v", "__w")],
    )
    made = renamed(chosen, inner_names([], chosen))
    assert [(one.column, one.name) for one in made.select] == [
        ("column__v", "column__v"),
        ("v", "column__w"),
    ]


@pytest.mark.parametrize(
    ("match", "found"),
    [
        (
            pw.LastRows(delta("__v", 1), left=delta("__w", 2)),
            pw.LastRows(delta("v_", 1), left=delta("w_", 2)),
        ),
        (pw.Latest(deletes=(None, "__v")), pw.Latest(deletes=(None, "v_"))),
        (pw.Latest(deletes="__w"), pw.Latest(deletes="w_")),
        (pw.Latest(), pw.Latest()),
    ],
)
def test_columns_of_a_match_get_other_names(match: Any, found: Any) -> None:
    """Semantics 35.4."""
    spec = pw.JoinOperator(left=pw.Side(), right=pw.Side(), match=match)
    assert set(inner_names([], spec)) <= {"__v", "__w"}
    assert renamed(spec, {"__v": "v_", "__w": "w_"}).match == found


@pytest.mark.parametrize("family", ROWS)
@examples(20)
@given(data=st.data())
def test_every_column_that_is_read_is_renamed(family: str, data: st.DataObject) -> None:
    """A field that names columns is in the tables of such fields, in that of each module (semantics 35.4)."""
    with silently():
        spec = data.draw(ROWS[family]())
    for port, entry in spec.ports.items():
        names = {name: f"{name}_" for name in entry.columns_read}
        for made in (renamed(spec, names), parts(spec).renamed(spec, port, names)):
            assert set(made.ports[port].columns_read) == set(names.values())


@pytest.mark.parametrize("kind", SPECS)
def test_without_such_names_nothing_changes(kind: str) -> None:
    assert renamed(SPECS[kind], {}) is SPECS[kind]
    assert renamed(SPECS[kind], {"__other": "column__other"}) is SPECS[kind]


def test_a_name_that_a_column_has_is_not_taken() -> None:
    spec = WindowOperator(window=pw.Tumbling(5), keys=["__k"], aggregates=[F.count().alias("column__N")])
    names = inner_names(["__k", "column__k", "Column__K_", "__n", "v"], spec)
    assert names == {"__k": "column__k__", "__n": "column__n_"}


class Listener:
    def handle(self, event: Any) -> Any:
        yield {"n": len(event.tuples)}


@pytest.mark.parametrize(
    ("fields", "outputs", "refused"),
    [
        ({}, {"n": "bigint"}, "__v"),
        ({"columns": ["v", "__v"]}, {"n": "bigint"}, "__v"),
        ({"columns": ["v"], "partition_by": ["__k"]}, {"n": "bigint"}, "__k"),
        ({"columns": ["v"]}, {"__n": "bigint"}, "__n"),
        ({"columns": ["v"]}, {"n": "bigint"}, None),
    ],
)
def test_a_listener_sees_no_other_name(
    fields: dict[str, Any], outputs: dict[str, str], refused: str | None
) -> None:
    listener = WindowListener(Listener, name="it", outputs=outputs)
    spec = StreamWindow.tumbling(count(2), listener=listener, **fields)
    names = inner_names(["v", "__v"], spec)
    if refused is None:
        assert renamed(spec, names) is spec
        return
    with pytest.raises(SpecError) as caught:
        renamed(spec, names)
    assert caught.value.given == f"listener={listener!r} with {refused!r}"
    assert caught.value.rule.startswith("an operator renames columns that begin with '__', and a listener")
    assert caught.value.remedy == "give columns=[...] without it, or rename it"
