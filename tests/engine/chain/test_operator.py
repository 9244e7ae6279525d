"""Chains: sums of sums are the direct sum, what stages store, and keys of stages (semantics 30)."""

from dataclasses import fields as dataclass_fields

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.engine.chain.operator import ChainEngine
from panewise.engine.registry import operator_for
from panewise.errors import SpecError
from panewise.oracle import ChainInterpreter
from panewise.testing import run
from panewise.testing.chains import can_begin_chain
from panewise.testing.compare import same
from panewise.testing.strategies import KINDS, events, specs, types_of
from tests.engine.effort import FEW

STEADY = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("session", "sliding", "custom")]
)


ALWAYS = [None, pw.Never(), pw.Always()]
SUMS = [  # the aggregate of the operator, and that of the stage which gives the direct aggregate
    (F.sum("n"), F.sum),
    (F.sum("v"), F.sum),
    (F.sum("price"), F.sum),
    (F.count(), F.sum),
    (F.count("v"), F.sum),
    (F.count_if("flag"), F.sum),
    (F.min("n"), F.min),
    (F.max("v"), F.max),
    (F.bool_and("flag"), F.bool_and),
    (F.bool_or("flag"), F.bool_or),
]


@STEADY
@FEW
@given(data=st.data())
def test_sums_of_sums_are_the_direct_sum(kind: str, data: st.DataObject) -> None:
    """The panes are those of the direct operator, with timing, indexes and retractions (semantics 30.10)."""
    # With another `late` the windows of different keys do not fire together.
    after = pw.AfterWatermark(early=data.draw(st.sampled_from(ALWAYS)), late=pw.Always())
    trigger = data.draw(st.sampled_from([after, after, pw.Always(), pw.Never()]))
    direct, plus = data.draw(st.sampled_from(SUMS))
    keys = data.draw(st.sampled_from([["key"], [], ["shop", "key"]]))
    made = [
        direct.alias("part"),
        F.count("shop").alias("shops"),
        F.count("key").alias("keys"),
    ]  # both operators read all keys, so the same rows are invalid
    fields = {
        "trigger": trigger,
        "keys": ["key", "shop"],
        "aggregates": made,
        "null_keys": True,
        "delta": False,
        "evictor": None,
    }
    spec = data.draw(specs(kind, **fields).filter(can_begin_chain))
    chain = spec.then(
        keys=keys,
        aggregates=[plus("part").alias("part"), F.sum("shops").alias("shops"), F.sum("keys").alias("keys")],
    )
    script = data.draw(events(spec))
    whole = run(chain, script, "engine", types=types_of(spec))
    direct_fields = {field.name: getattr(spec, field.name) for field in dataclass_fields(spec)} | {
        "keys": keys
    }
    for event, one, other in zip(
        script, whole, run(pw.WindowOperator(**direct_fields), script, types=types_of(spec)), strict=True
    ):
        assert same(one["panes"], other["panes"]), (
            f"{event}\nchain {one['panes']}\ndirect {other['panes']}\n{chain}"
        )


def test_nothing_is_kept_of_windows_that_have_expired() -> None:
    """A stage purges its windows when they expire, in the engine and in the oracle (semantics 30.9)."""
    first = pw.WindowOperator(
        keys=["k"],
        window=pw.Tumbling(10),
        aggregates=[F.count().alias("n")],
        accumulation="retracting",
        allowed_lateness=5,
    )
    chain = first.then(aggregates=[F.sum("n").alias("rows")])
    operator = operator_for(chain, {"k": pl.String(), "event_time": pl.Int64()})
    oracle = ChainInterpreter(chain)
    rows = [{"k": "a", "event_time": 1}, {"k": "b", "event_time": 2}, {"k": "b", "event_time": 12}]
    assert isinstance(operator, ChainEngine)
    operator.add(pl.DataFrame(rows))
    oracle.add(rows)
    for watermark, kept in ((14, 3), (15, 0), (20, 2), (25, 0)):
        operator.advance(watermark=watermark)
        oracle.watermark(watermark)
        assert (
            sum(table.all().height for name, table in operator.state.tables.items() if name != "windows")
            == kept
        )
        assert oracle.stored_count == kept


def test_a_long_table_is_sealed_into_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of a stage that is moved into runs between batches gives the output of the oracle."""
    monkeypatch.setattr("panewise.engine.tables.stored_table.StoredTable.LONG", 2)
    first = pw.WindowOperator(
        keys=["k"],
        window=pw.Global(),
        trigger=pw.Always(),
        aggregates=[F.count().alias("n")],
        accumulation="retracting",
    )
    script = [{"op": "add", "rows": [{"k": k, "event_time": 1} for k in range(n)]} for n in (4, 3, 5, 1)]
    chain = first.then(keys=["n"], aggregates=[F.collect_list("k").alias("ks")])
    outputs = run(chain, script, "engine")
    assert [(pane["n"], pane["ks"]) for pane in outputs[-1]["panes"] if pane["op"] == "+"] == [
        (3, [1, 2]),
        (4, [0]),
    ]
    assert outputs == run(chain, script, "oracle")


def test_lists_are_no_keys() -> None:
    """A stage refuses a list as a key (semantics 30.1)."""
    first = pw.WindowOperator(window=pw.Global(), aggregates=[F.first("v").alias("v")])
    with pytest.raises(SpecError, match="then: key v: array"):
        operator_for(
            first.then(keys=["v"], aggregates=[F.count()]), {"v": pl.List(pl.Int64), "event_time": pl.Int64()}
        )


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_a_key_is_never_minus_zero(runtime: str) -> None:
    """A key of -0.0 becomes 0.0 (semantics 30.1). In Polars, adding 0.0 does not ensure this."""
    first = pw.WindowOperator(
        keys=["k"], window=pw.Global(), trigger=pw.Always(), aggregates=[F.min("v").alias("least")]
    )
    rows = [{"event_time": 1, "k": k, "v": v} for k, v in enumerate([-0.0, 1.0, 0.0])]
    panes = run(
        first.then(keys=["least"], aggregates=[F.count().alias("n")]), [{"op": "add", "rows": rows}], runtime
    )[0]["panes"]
    assert [(repr(pane["least"]), pane["n"]) for pane in panes] == [("0.0", 2), ("1.0", 1)]
