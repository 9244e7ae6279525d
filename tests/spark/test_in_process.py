"""The dataflow in this process: what Spark cuts, moves, repeats and restarts changes no output."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise.spec import Specification, parts
from panewise.spec.codec import from_dict
from panewise.testing import run, transcripts
from panewise.testing.cogroups import USERS as USERS_OF_BOTH
from panewise.testing.compare import same
from panewise.testing.families import POLICY
from panewise.testing.runtimes import spark as on_spark
from tests.drawn import BY_KIND, JOINS, events_of, types_for
from tests.engine.effort import examples
from tests.nightly import every, unlike
from tests.spark import in_process
from tests.spark.in_process import Cut
from tests.spark.test_transcripts import DOCUMENTS, named
from tests.transcripts.functions import USER_LISTENERS, USER_WINDOWS

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")

USERS: dict[str, Any] = {"user_windows": USER_WINDOWS, "user_listeners": USER_LISTENERS}
# With `cold` each micro-batch starts from the stored state alone, as after a restart.
CUTS = [Cut(partitions=3, rows=2, bytes=64, cold=True), Cut(partitions=2, order=3)]
REPEATED = Cut(partitions=2, rows=3, order=5, repeat=True)

Outputs = list[dict[str, Any]]


def shards_of(spec: Specification) -> int:
    alone = len(spec.ports) > 1 and one_shard_alone(spec)
    return 3 if parts(spec).one_shard(spec) is None and not alone else 1


def one_shard_alone(spec: Any) -> bool:
    """Returns whether outputs depend on the merge of both sides, and that on rows of other keys (36.6)."""
    of_both: Any = getattr(spec, "join", spec)
    match = getattr(of_both, "match", None)
    by_order = match is not None and match.kind not in ("interval", "same_window", "as_of")
    if not (by_order or getattr(of_both, "both_aggregates", ()) or of_both.evaluate == "record"):
        return False
    left, right = of_both.sides.values()
    return bool(left.position or right.position) or left.order != right.order


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Cut], None]:
    """Returns a function after which the runtime "spark" plays in this process."""
    return lambda cut: monkeypatch.setattr(on_spark, "play", partial(in_process.play, cut=cut))


def agree(script: Any, found: Outputs, wanted: Outputs) -> None:
    for event, one, other in zip(script, found, wanted, strict=True):
        for part in other:
            assert same(ordered(one[part]), ordered(other[part])), (event, part, one[part], other[part])


def ordered(part: Any) -> Any:
    """Returns the rows of an output in an order that cuts and the number of shards do not change."""
    return sorted(part, key=repr) if isinstance(part, list) else part


def without_expectations(document: Any) -> Outputs:
    return [
        {name: value for name, value in event.items() if name not in ("expect", "state")}
        for event in document["events"]
    ]


# `make test` plays each fifth transcript. The engine plays all of them.
EACH = [
    pytest.param(CUTS[number % len(CUTS)], pair[1], id=named(pair), marks=every(5, number))
    for number, pair in enumerate(DOCUMENTS)
]


@pytest.mark.parametrize(("cut", "document"), EACH)
def test_transcript(use: Callable[[Cut], None], cut: Cut, document: Any) -> None:
    """Several shards emit together what one emits, and what the oracle emits (semantics 3.1, 18.3, 33)."""
    use(cut)
    spec = from_dict(document["spec"], None, USER_WINDOWS, USER_LISTENERS)
    if shards_of(spec) == 1 and not expects_invalid(document):
        transcripts.check(document, "spark", **USERS)
        return
    script, options = without_expectations(document), {"types": document.get("types"), "windows": True}
    found = run(spec, script, "spark", shards=shards_of(spec), **options)
    agree(script, found, run(spec, script, "oracle", **options))


@pytest.mark.nightly
@pytest.mark.parametrize("pair", DOCUMENTS, ids=named)
def test_transcript_in_order(use: Callable[[Cut], None], pair: tuple[str, Any]) -> None:
    """In one shard all rows come in the order of the transcript, also from a task that is repeated."""
    use(Cut(repeat=True) if expects_invalid(pair[1]) else Cut(partitions=2, rows=3, repeat=True))
    transcripts.check(pair[1], "spark", **USERS)


def expects_invalid(document: Any) -> bool:
    """Returns whether several invalid rows are expected. Where they are found their order depends on cuts."""
    return any(len((event.get("expect") or {}).get("invalid") or ()) > 1 for event in document["events"])


IN_ORDER = USERS_OF_BOTH["in_order"]
_TYPES = {"k": "string", "event_time": "bigint", "v": "bigint"}
BOTH_TYPES = {"left": _TYPES, "right": _TYPES}


@pytest.mark.parametrize(
    ("orders", "differs"), [(([], []), False), ((["v"], ["v"]), False), ((["v"], []), True)], ids=str
)
def test_the_order_of_both_sides(use: Callable[[Cut], None], orders: Any, differs: bool) -> None:
    """semantics 3.1, 36.6: a row of another key delays a row only in the shard that receives it."""
    use(CUTS[0])
    left, right = (pw.Side(keys=["k"], order=order) for order in orders)
    window, aggregates = pw.Tumbling(100), [IN_ORDER("v", "v").alias("all")]
    spec = pw.CogroupOperator(left=left, right=right, window=window, both_aggregates=aggregates)
    of_a, of_b = {"k": "a", "event_time": 9, "v": 1}, {"k": "b", "event_time": 1, "v": 2}
    rows = {"left": [of_a, of_b], "right": [{"k": "b", "event_time": 5, "v": 3}]}
    script: list[Any] = [{"op": "add", "rows": rows}, {"op": "finish"}]
    panes = {
        shards: [
            pane["all"]
            for output in run(spec, script, "spark", shards=shards, types=BOTH_TYPES)
            for pane in output["panes"]
            if pane["k"] == "b"
        ]
        for shards in (1, 2)
    }
    assert panes[2] == [["left 2", "right 3"]]
    assert panes[1] == [["right 3", "left 2"] if differs else ["left 2", "right 3"]]
    assert one_shard_alone(spec) == differs


@pytest.mark.parametrize("family", unlike([*BY_KIND, "windowed streams"]))
@examples(24)
@given(data=st.data())
def test_dataflow_is_engine(family: str, data: st.DataObject) -> None:
    """Drawn operators of all families, in several shards and with repeated tasks (semantics 3.1, 33)."""
    spec = data.draw({**BY_KIND, **JOINS}[family]())
    script = [one for one in data.draw(events_of(spec)) if one["op"] not in POLICY.ops]
    cut = data.draw(st.sampled_from([*CUTS, REPEATED]))
    if any(entry.position for entry in spec.ports.values()):
        cut = replace(cut, partitions=1, rows=0)  # one task reads all rows of a position (semantics 4.2)
    options: dict[str, Any] = {"types": types_for(spec), "windows": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_spark, "play", partial(in_process.play, cut=cut))
        found = run(spec, script, "spark", shards=shards_of(spec), **options)
    agree(script, found, run(spec, script, "engine", **options))
