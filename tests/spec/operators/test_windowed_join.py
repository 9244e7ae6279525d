"""Windows over joins: what is refused, keys and shards, JSON and words (semantics 42)."""

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec import Chain, parts
from panewise.spec.codec import changed_fields, complete, from_json, to_dict, to_json
from panewise.spec.column_types import Type
from panewise.spec.describe import describe
from panewise.spec.operators.windowed_join import WindowedJoin, key_columns

DAY = pw.Tumbling("1 day")
PAIRS = F.count().alias("pairs")
SIDES: dict[str, Any] = {
    "left": pw.Side(keys=["shop", "id"], event_time="ordered"),
    "right": pw.Side(keys=["shop", "order"], event_time="shipped", prefix="r_"),
    "match": pw.Interval(0, "1 hour"),
}
TYPES = {
    "left": {"shop": Type("string"), "id": Type("bigint"), "v": Type("string")},
    "right": {"shop": Type("string"), "order": Type("bigint")},
}


def join(**fields: Any) -> pw.JoinOperator:
    return pw.JoinOperator(**{**SIDES, **fields})


def windowed(join: pw.JoinOperator | None = None, **fields: Any) -> WindowedJoin:
    given = {"keys": ["shop"], "window": DAY, "aggregates": [PAIRS], **fields}
    return (join or pw.JoinOperator(**SIDES)).then(**given)


def test_the_windows_follow_the_join() -> None:
    spec = windowed(trigger=pw.Always())
    assert (spec.operator.event_time, spec.operator.trigger) == ("join_time", pw.Always())
    assert (spec.keys, spec.position, list(spec.ports)) == (("shop",), None, ["left", "right"])
    staged = spec.then(keys=["shop"], aggregates=[F.max("pairs").alias("most")])
    assert isinstance(staged.windows, Chain)
    assert staged.operator == spec.operator


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"how": "left", "unmatched": "early"},
        {},
        "then after unmatched='early' | windows over a join take rows",
    ),
    ({"evaluate": "record"}, {}, "then after evaluate='record' | the rows of a join that an event emits"),
    ({}, {"event_time": "ordered"}, "event_time='ordered' after a join | the event time of the rows of a"),
    ({}, {"watermark": pw.StreamTime(per="all")}, "watermark=StreamTime("),
    ({}, {"allowed_lateness": 5}, "allowed_lateness=Duration('5 microseconds') after a join | a row that"),
    ({}, {"allowed_lateness": "unlimited"}, "allowed_lateness='unlimited' after a join | a row that a join"),
    ({}, {"drop_by": "row"}, "drop_by='row' after a join | a row that a join emits is never behind"),
    ({}, {"position": pw.Position("p", "o")}, "position=Position("),
    ({}, {"max_future_skew": 5}, "max_future_skew=Duration('5 microseconds') after a join | the sides"),
    ({}, {"null_keys": False}, "null_keys=False after a join | the sides of the join validate rows | give"),
    ({}, {"delta": True}, "delta=True after a join | a delta contains rows of an input"),
    ({}, {"window": pw.Session("gap")}, "then with Session("),
    ({}, {"window": pw.Tumbling(pw.rows(3)), "event_time": None}, "then with Tumbling("),
    ({}, {"trigger": pw.AfterCount(2)}, "then, and a top-level AfterCount(n=2) closes a window"),
]


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize(("of_join", "of_windows", "start"), REFUSED, ids=[str(one[:2]) for one in REFUSED])
def test_what_has_no_meaning_is_refused(
    of_join: dict[str, Any], of_windows: dict[str, Any], start: str
) -> None:
    """semantics 42.1"""
    with pytest.raises(SpecError) as error:
        windowed(join(**of_join), **of_windows)
    assert str(error.value).startswith(start)
    assert str(error.value).count(" | ") == 2


def test_a_custom_window_is_refused() -> None:
    """semantics 42.1: a row may have no window."""
    window = pw.Custom(lambda df: df.select(pl.lit([])), name="none")
    with pytest.raises(SpecError, match=r"windows over a join have no output for rows without a window"):
        windowed(window=window)


def test_parts_of_other_kinds() -> None:
    spec = windowed()
    of_clock = pw.WindowOperator(window=DAY, aggregates=[PAIRS], time="processing")
    with pytest.raises(SpecError, match=r"^time='processing' after a join \| the watermark is the output"):
        replace(spec, windows=of_clock)
    with pytest.raises(SpecError, match=r"^join=.* \| the join below windows is a JoinOperator \| give one"):
        replace(spec, join=spec.operator)
    with pytest.raises(SpecError, match=r"^windows=.* \| a WindowOperator or a Chain follows the join"):
        replace(spec, windows=spec.join)


def test_keys_are_keys_of_the_join_in_every_row() -> None:
    """semantics 42.3"""
    assert key_columns(join()) == {"shop": 0, "id": 1, "r_order": 1}
    assert key_columns(join(how="left")) == {"shop": 0, "id": 1}
    assert key_columns(join(how="right")) == {"shop": 0, "r_order": 1}
    assert key_columns(join(how="full")) == {"shop": 0}
    one_sided = join(how="anti", right=replace(SIDES["right"], prefix=""))
    assert key_columns(one_sided) == {"shop": 0, "id": 1}
    chosen = [pw.Selected("right", "shop", "a"), pw.Selected("either", "id", "b"), pw.Selected("left", "v")]
    assert key_columns(join(select=chosen, right=replace(SIDES["right"], prefix=""))) == {"a": 0, "b": 1}
    given = re.escape(
        "then: key 'id' | rows of one key of the windows are in one shard, so it is a key of the join in "
        "every emitted row: one of ['r_order', 'shop'] | name one of these, or give the result of the "
        "join to windowed(...)"
    )
    with pytest.raises(SpecError, match=rf"^{given} \[PW-"):
        windowed(join(how="right"), keys=["id"])


def test_shards_are_made_by_the_keys_that_all_have() -> None:
    """semantics 42.3"""
    spec = windowed(keys=["r_order", "shop"])
    assert (spec.shard_keys("left"), spec.shard_keys("right")) == (("id", "shop"), ("order", "shop"))
    assert parts(spec).one_shard(spec) is None
    alone = windowed(keys=[])
    rule, remedy = parts(alone).one_shard(alone) or ("", "")
    assert rule == "windows over a join that have no key of it have one shard (semantics 42.3)"
    assert remedy == "leave shards out, or give the windows a key of the join"
    staged = spec.then(keys=["shop"], aggregates=[F.sum("pairs").alias("pairs")])
    assert staged.shard_keys("right") == ("shop",)
    assert parts(staged).unchanged(staged, {}) == {"shop": ("left", "shop")}


def test_columns_and_their_types() -> None:
    spec = windowed(aggregates=[F.first("v"), F.max("join_time")])
    parts(spec).check_types(spec, TYPES)
    with pytest.raises(SpecError, match=r"sum takes numbers"):
        parts(spec).check_types(windowed(aggregates=[F.sum("v")]), TYPES)
    with pytest.raises(
        SpecError, match=r"^column 'w' after a join \| windows over a join read columns of the"
    ):
        parts(spec).check_types(windowed(aggregates=[F.sum("w")]), TYPES)


@pytest.mark.parametrize("staged", [False, True])
def test_json_is_read_back(staged: bool) -> None:
    spec = windowed(trigger=pw.Always())
    spec = spec.then(aggregates=[F.sum("pairs").alias("pairs")]) if staged else spec
    assert from_json(to_json(spec)) == spec
    document = to_dict(spec)
    assert complete(document) == document
    assert changed_fields(document, to_dict(spec.join)) == ["then"]
    assert changed_fields(document, to_dict(replace(spec, join=join(how="left")))) == ["how", "unmatched"]
    with pytest.raises(SpecError, match=r"then=3"):
        from_json(to_json(spec.join)[:-1] + ', "then": 3}')


def test_the_description_has_both() -> None:
    lines = describe(windowed()).split("\n")
    assert lines[0] == "Join: emits each pair of a left and a right row that are partners."
    then = lines.index(
        "Then: windows over the emitted rows, whose watermark is the output watermark of the join."
    )
    begins = [line.split(":")[0] for line in lines[then + 1 :] if not line.startswith(" ")]
    assert begins == ["Windows", "Panes", "Content", "Order", "State", "Shards"]
    assert lines[-1] == ("Shards: keys are spread over shards by shop, which the join and the windows have.")
    assert describe(windowed(keys=[])).split("\n")[-1].startswith("Shards: one.")
