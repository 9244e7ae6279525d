"""A query that continues another one, with other shards, emits what one query emits (semantics 48)."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.spec import Specification, parts
from panewise.spec.codec import from_dict
from panewise.testing import run
from panewise.testing.families import POLICY
from panewise.testing.runtimes import spark as on_spark
from tests.drawn import BY_KIND, JOINS, events_of, types_for
from tests.engine.effort import examples
from tests.nightly import each_second, every, unlike
from tests.spark import in_process
from tests.spark.in_process import Cut
from tests.spark.test_in_process import (
    CUTS,
    DOCUMENTS,
    agree,
    named,
    one_shard_alone,
    without_expectations,
)
from tests.transcripts.functions import USER_LISTENERS, USER_WINDOWS

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")

EACH = [
    pytest.param(pair[1], id=named(pair), marks=every(12, number)) for number, pair in enumerate(DOCUMENTS)
]
SEVERAL = (3, 5, 2, 7)


def moved(spec: Specification, events: int, first: int = 1) -> dict[int, int]:
    """Returns other numbers of shards for events: up and down, if the operator may have several."""
    if parts(spec).one_shard(spec) is not None:
        return {}
    if len(spec.ports) > 1 and one_shard_alone(spec):
        return dict.fromkeys(range(first, events), 1)
    return {number: SEVERAL[number % len(SEVERAL)] for number in range(first, events)}


def played(spec: Any, script: Any, moves: dict[int, int], cut: Cut, **options: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_spark, "play", partial(in_process.play, cut=cut, moves=moves))
        return run(spec, script, "spark", shards=1, **options)


@pytest.mark.parametrize("document", EACH)
def test_transcript(document: Any) -> None:
    """semantics 48.6: before each event the state goes on with another number of shards."""
    spec = from_dict(document["spec"], None, USER_WINDOWS, USER_LISTENERS)
    script, options = without_expectations(document), {"types": document.get("types"), "windows": True}
    outputs = played(spec, script, moved(spec, len(script)), CUTS[1], **options)
    agree(script, outputs, run(spec, script, "oracle", **options))


# The engine's own tests of redistribution have the tables of each kind (tests/state/test_exported_golden.py).
@pytest.mark.parametrize("family", each_second(unlike([*BY_KIND, "windowed streams"])))
@examples(24)
@given(data=st.data())
def test_drawn(family: str, data: st.DataObject) -> None:
    """semantics 48.6, 48.12, for operators of all families: the state is moved once, or again and again."""
    spec = data.draw({**BY_KIND, **JOINS}[family]())
    script = [event for event in data.draw(events_of(spec)) if event["op"] not in POLICY.ops]
    cut = data.draw(st.sampled_from(CUTS))
    if any(entry.position for entry in spec.ports.values()):
        cut = replace(cut, partitions=1, rows=0)  # one task reads all rows of a position (semantics 4.2)
    options: dict[str, Any] = {"types": types_for(spec), "windows": True}
    every_event = moved(spec, len(script), data.draw(st.integers(1, max(1, len(script) - 1))))
    once = dict(list(every_event.items())[:1])
    outputs = played(spec, script, data.draw(st.sampled_from([every_event, once])), cut, **options)
    agree(script, outputs, run(spec, script, "engine", **options))


def test_an_added_aggregate() -> None:
    """semantics 47.3, 48.7: it is null for rows that it has not seen, also in other shards."""
    spec = pw.WindowOperator(keys=["k"], window=pw.Tumbling(10), aggregates=[F.sum("v").alias("s")])
    more = replace(spec, aggregates=[F.sum("v").alias("s"), F.count().alias("n")])
    script: list[Any] = [
        {"op": "add", "rows": [{"event_time": 1, "k": "a", "v": 1}]},
        {"op": "change", "spec": more},
        {"op": "add", "rows": [{"event_time": 2, "k": "a", "v": 2}, {"event_time": 12, "k": "b", "v": 3}]},
        {"op": "watermark", "to": 20},
    ]
    outputs = played(spec, script, {3: 5}, CUTS[1])
    agree(script, outputs, run(spec, script, "engine"))
    assert sorted((row["k"], row["s"], row["n"]) for row in outputs[-1]["panes"]) == [
        ("a", 3, None),
        ("b", 3, 1),
    ]
