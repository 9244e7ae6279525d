"""Tests of what pack reports of inputs to the shards (semantics 12.9), without a query.

The outputs and the watermark are the same with any number of partitions and shards.
"""

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from panewise import Inputs
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.ingest.output import Output
from panewise.engine.run_library import Cache, RunLibrary
from panewise.families import INPUT
from panewise.spark.workers.pack import Pack
from panewise.spark.workers.step import ShardBatch, step
from panewise.spec import WindowOperator
from panewise.state import MemoryRunStore
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.events import script
from panewise.testing.ingest import FLAGS, frame, schema
from panewise.testing.strategies import events, specs, types_of
from tests.engine.effort import FEW

SHARDS = [0, 1, 2]
INPUTS = st.sampled_from(
    [Inputs(["a", "b"], column="input"), Inputs(["a", "b"], 4, "input", {"a": 1, "b": 0})]
)


def envelopes(
    spec: WindowOperator, columns: dict[str, pl.DataType], rows: pl.DataFrame, partitions: int
) -> list[dict[str, Any]]:
    """Returns the envelopes of a micro-batch whose rows are dealt to the partitions in turn."""
    pack = Pack(spec, {INPUT: columns}, SHARDS, late_wanted=False)
    dealt = [rows.gather_every(partitions, offset) for offset in range(partitions)]
    return [
        row for part in dealt for sent in pack(iter(part.to_arrow().to_batches())) for row in sent.to_pylist()
    ]


@FEW
@given(data=st.data(), partitions=st.integers(1, 3))
def test_shards_see_the_same_watermark(data: st.DataObject, partitions: int) -> None:
    fixed: dict[str, Any] = {
        "keys": ["shop"],
        "evaluate": "batch",
        "time": "event",
        "max_future_skew": None,
        "order": ["order", "v", "note"],
        "position": None,
    }
    spec = data.draw(specs("tumbling", watermark=data.draw(INPUTS), **fixed))
    drawn = data.draw(events(spec))
    told = script(spec, drawn, types_of(spec) | {"note": "bigint"})
    types = dict(told.types[INPUT])
    columns = schema(types) | FLAGS
    stores = [MemoryRunStore() for _ in SHARDS]
    for event, wanted in zip(told.events, run(spec, drawn, "engine", types=types), strict=True):
        if event.op == "restart":
            continue
        sent = (
            envelopes(spec, columns, frame(spec, types, event.rows[INPUT]), partitions)
            if event.op == "add"
            else []
        )
        outputs, marks = [], set()
        for shard, store in zip(SHARDS, stores, strict=True):
            mail = ShardBatch.read((row["kind"], row["payload"]) for row in sent if row["shard"] == shard)
            mail.control |= {"finish": 1} if event.op == "finish" else {}
            stored = StoredOperator.load(spec, columns, RunLibrary(store, Cache()), len(SHARDS))
            outputs.append(Output.merged(list(step(stored.operator, mail, event.to, None))))
            marks.add(stored.operator.state.clocks.watermark)
            if stored.changed:
                stored.commit()
        assert len(marks) == 1
        panes = pl.concat([output.panes for output in outputs]).to_dicts()
        order = lambda pane: (pane["window_end"] or 0, repr(pane["shop"]), pane["index"], pane["op"] == "+")  # noqa: E731
        assert same(sorted(panes, key=order), sorted(wanted["panes"], key=order))
