"""A family of another package, with two inputs, works in all runtimes without a change in any of them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from panewise import cli
from panewise.errors import InputError, SpecError
from panewise.families import ENTRY_POINTS, family_named
from panewise.spark import apply
from panewise.spec.codec import changed_fields, from_json, to_dict, to_json
from panewise.spec.describe import describe
from panewise.testing import run
from panewise.testing.compare import same
from tests.families.pairs.spec import LEFT, RIGHT, Pairs, Side
from tests.nightly import first_here

HERE = Path(__file__).parent
SPEC = Pairs(Side("k", "t"), Side("id", "at"))
TYPES = {LEFT: {"k": "bigint", "t": "bigint"}, RIGHT: {"id": "bigint", "at": "bigint"}}
EVENTS: list[dict[str, Any]] = [
    {"op": "add", "input": LEFT, "rows": [{"k": 1, "t": 5}, {"k": 2, "t": 7}, {"k": None, "t": 8}]},
    {"op": "add", "input": RIGHT, "rows": [{"id": 1, "at": 6}, {"id": 1, "at": 30}]},
    {"op": "watermark", "to": 20, "input": LEFT},
    {"op": "watermark", "to": 10, "input": RIGHT},
    {"op": "restart"},
    {"op": "add", "input": RIGHT, "rows": [{"id": 2, "at": 9}, {"id": 2, "at": None}, {"id": 2, "at": 12}]},
    {"op": "clock", "to": 100},
    {"op": "add", "rows": {RIGHT: [{"id": 1, "at": 2}, {"id": 3, "at": 40}], LEFT: [{"k": 1, "t": 4}]}},
    {"op": "finish", "input": LEFT},
    {"op": "watermark", "to": 15, "input": RIGHT},
    {"op": "finish"},
]
RUNTIMES = [("engine", {}), ("engine", {"stored": True}), ("spark", {"shards": 3})]


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The family is found as that of an installed package: by the metadata in a directory of sys.path."""
    monkeypatch.syspath_prepend(str(HERE))


def test_what_it_does() -> None:
    outputs = run(SPEC, EVENTS, types=TYPES, windows=True)
    panes = [[tuple(pane.values()) for pane in output["panes"]] for output in outputs]
    assert panes[3] == [(1, 1, 1, 9), (2, 1, 0, 9)]
    assert panes[9] == [(2, 1, 1, 14)]
    assert panes[10] == [(1, 1, 2, 2**63 - 2), (3, 0, 1, 2**63 - 2)]
    assert outputs[0]["invalid"][0]["input"] == LEFT
    assert [(late["input"], late["reason"], late["late_by"]) for late in outputs[5]["late"]] == [
        (RIGHT, "behind", 1)
    ]
    assert outputs[5]["counts"][RIGHT]["rows_in"] == 3
    assert [(late["input"], late["row"]) for late in outputs[7]["late"]] == [
        (LEFT, {"k": 1, "t": 4}),
        (RIGHT, {"id": 1, "at": 2}),
    ]
    assert list(outputs[7]["counts"]) == [LEFT, RIGHT]


@pytest.mark.parametrize(("runtime", "options"), first_here(RUNTIMES, 2))
def test_all_runtimes_agree(runtime: str, options: dict[str, Any]) -> None:
    expected = run(SPEC, EVENTS, types=TYPES, windows=True)
    found = run(SPEC, EVENTS, runtime, types=TYPES, windows=True, **options)
    for one, other in zip(expected, found, strict=True):
        other["panes"].sort(key=lambda pane: pane["key"])
        assert same(one, other), (one, other)


_ROWS = st.lists(
    st.tuples(st.sampled_from([1, 2, None]), st.sampled_from([0, 1, 2, 3, 5, 9, None])), max_size=4
)
_MOVES = st.one_of(
    st.tuples(st.just("both"), _ROWS, _ROWS),
    st.tuples(st.just("add"), st.sampled_from([LEFT, RIGHT]), _ROWS),
    st.tuples(st.just("watermark"), st.sampled_from([LEFT, RIGHT]), st.integers(-1, 9)),
    st.tuples(st.just("restart"), st.none(), st.none()),
)


@given(st.lists(_MOVES, max_size=12))
def test_the_engine_does_as_the_oracle(moves: list[tuple[str, Any, Any]]) -> None:
    events: list[dict[str, Any]] = []
    for op, port, given_value in moves:
        if op == "add":
            events.append({"op": op, "input": port, "rows": _dicts(port, given_value)})
        elif op == "both":
            rows = {LEFT: _dicts(LEFT, port), RIGHT: _dicts(RIGHT, given_value)}
            events.append({"op": "add", "rows": rows})
        else:
            events.append({"op": op} if op == "restart" else {"op": op, "input": port, "to": given_value})
    events.append({"op": "finish"})
    expected = run(SPEC, events, types=TYPES, windows=True)
    for options in ({}, {"stored": True}):
        found = run(SPEC, events, "engine", types=TYPES, windows=True, **options)
        assert same(expected, found)


def _dicts(port: str, rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(SPEC.ports[port].columns_read, row, strict=True)) for row in rows]


def test_an_input_is_named() -> None:
    with pytest.raises(InputError, match=r"input=None \| with several inputs an event names its input"):
        run(SPEC, [{"op": "add", "rows": []}], types=TYPES)
    with pytest.raises(InputError, match=r"rows: input='middle' \| with several inputs"):
        run(SPEC, [{"op": "add", "rows": {"middle": []}}], types=TYPES)
    with pytest.raises(InputError, match=r"rows=\{\} \| rows of several inputs are given by input"):
        run(SPEC, [{"op": "add", "rows": {}}], types=TYPES)
    with pytest.raises(InputError, match="has a field 'input'"):
        run(SPEC, [{"op": "add", "input": LEFT, "rows": {LEFT: []}}], types=TYPES)
    with pytest.raises(InputError, match=r"rows of .* after finish"):
        run(SPEC, [{"op": "finish", "input": LEFT}, EVENTS[0]], "engine", types=TYPES)
    with pytest.raises(InputError, match=r"rows of .* after finish"):
        run(SPEC, [{"op": "finish", "input": LEFT}, EVENTS[7]], "engine", types=TYPES)


def test_positions_are_declared() -> None:
    """With several inputs a specification says which of them have source positions."""
    row = {"k": 1, "t": 5, "position": [0, 1]}
    with pytest.raises(InputError, match=r"a position in rows of 'left' \| .* \| declare it, or leave"):
        run(SPEC, [{"op": "add", "input": LEFT, "rows": [row]}], types=TYPES)


def test_a_watermark_of_all_inputs() -> None:
    """A watermark that names no input is that of all."""
    events = [EVENTS[0], EVENTS[1], {"op": "watermark", "to": 7}]
    for runtime in ("oracle", "engine"):
        panes = run(SPEC, events, runtime, types=TYPES)[2]["panes"]
        assert [tuple(pane.values()) for pane in panes] == [(1, 1, 1, 6)]


def test_json_and_words() -> None:
    assert from_json(to_json(SPEC)) == SPEC
    assert describe(SPEC) == "Counts the rows of two inputs by k and id."
    other = Pairs(Side("k", "t"), Side("id", "when"))
    assert changed_fields(to_dict(SPEC), to_dict(other)) == [RIGHT]
    assert changed_fields(to_dict(SPEC), {"window": {"kind": "global"}, "aggregates": []}) == ["family"]


def test_a_family_is_found_by_its_entry_point_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document names the family, never a module."""
    assert family_named("pairs") is SPEC.family
    monkeypatch.setattr("panewise.families.entry_points", lambda **_: ())
    with pytest.raises(SpecError, match=rf"family='pairs' \| .* group {ENTRY_POINTS} \| install"):
        from_json(to_json(SPEC))
    with pytest.raises(SpecError, match=r"family='tests\.families\.pairs:PAIRS'"):
        from_json('{"family": "tests.families.pairs:PAIRS"}')


def test_a_query_and_its_state(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two streams with watermarks of their own; the outputs of both inputs; the state in the checkpoint."""
    for port, rows in {LEFT: "(1, 5), (2, 7), (null, 8)", RIGHT: "(1, 6), (1, 30)"}.items():
        names = ", ".join(SPEC.ports[port].columns_read)
        table = spark.sql(f"SELECT * FROM VALUES {rows} AS rows({names})")
        timed = table.withColumn(
            SPEC.ports[port].event_time, table[SPEC.ports[port].event_time].cast("timestamp")
        )
        timed.write.parquet(str(tmp_path / port))
    frames = {}
    for port, side in SPEC.ports.items():
        path = str(tmp_path / port)
        stream = spark.readStream.schema(spark.read.parquet(path).schema).parquet(path)
        frames[port] = stream.withWatermark(side.event_time, "0 seconds")
    result = apply(dict(reversed(frames.items())), SPEC, shards=2)
    assert list(result.dataflow.dfs) == [LEFT, RIGHT]  # Spark numbers sources by their order
    with pytest.raises(SpecError, match=r"a sink for 'late' \| the outputs are \['panes', 'late@left'"):
        result.write({"late": lambda df, _: None}, checkpoint=str(tmp_path / "none"))
    assert not hasattr(result, "late")  # each input has late rows of its own
    assert result.output("late", RIGHT).columns == ["row", "reason", "windows", "late_by", "partial"]
    found: list[tuple[Any, ...]] = []
    query = result.write(
        {"panes": lambda df, _: found.extend(tuple(row)[:3] for row in df.collect())},
        checkpoint=str(tmp_path / "checkpoint"),
        available_now=True,
    )
    query.awaitTermination()
    assert sorted(found) == [(1, 1, 1), (2, 1, 0)]  # the least watermark is 8
    assert cli.main(["state", str(tmp_path / "checkpoint")]) == 0
    shown = capsys.readouterr().out
    assert "Counts the rows of two inputs by k and id." in shown
