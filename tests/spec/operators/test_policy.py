"""Policy windows: what is accepted, what is refused and how, JSON, and descriptions (semantics 10)."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from panewise import SpecError, StreamWindow, Tumbling, WindowListener, WindowOperator
from panewise import functions as F
from panewise.spec.codec import changed_fields, complete, from_dict, from_json, to_dict, to_json
from panewise.spec.describe import describe
from panewise.streamwindow import count, delta, partition_age, partition_count, punct, time, tuple_count
from panewise.testing.policy_specs import COUNTING, EVICTING
from tests.spec.cases import Rule, check

LISTENER = WindowListener(object, name="it", outputs={"x": "bigint"})
KEYED: dict[str, Any] = {"partition_by": ["k"]}
NO_TRIGGER = "a tumbling window has no trigger: it emits its tuples when it evicts them (semantics 10.2)"
SLIDING = "('count', 'time', 'delta') (semantics 10.2)"
POLICIES = [count(3), time("1 second"), delta("v", 5)]


@pytest.mark.parametrize("evict", [*POLICIES, punct("flag")])
def test_every_tumbling_window_is_legal(evict: Any) -> None:
    assert StreamWindow.tumbling(evict).possible == ("INSERTION", "EVICTION", "FINAL")


@pytest.mark.parametrize("trigger", POLICIES)
@pytest.mark.parametrize("evict", POLICIES)
def test_all_nine_sliding_windows_are_legal(evict: Any, trigger: Any) -> None:
    spec = StreamWindow.sliding(evict, trigger, **KEYED)
    assert spec.possible == (
        "INITIAL_FULL",
        "INSERTION",
        "TRIGGER",
        "EVICTION",
        "PARTITION_EVICTION",
        "FINAL",
    )


def test_the_trigger_is_optional() -> None:
    assert StreamWindow.sliding(count(3)).trigger == count(1)
    assert from_dict(
        {"stream_window": "sliding", "evict": {"kind": "count", "n": 3}}
    ) == StreamWindow.sliding(count(3))


RULES = {
    "count": Rule(
        lambda: count(1), lambda: count(0),
        "count(0) | count is a whole number of tuples, one or more | give count(1) or more"
    ),
    "partitions": Rule(
        lambda: partition_count(1),
        lambda: partition_count(-1),
        "partition_count(-1) | partition_count is a whole number of partitions, one or more | give "
        "partition_count(1) or more",
    ),
    "tuples": Rule(
        lambda: tuple_count(1),
        lambda: tuple_count(True),
        "tuple_count(True) | tuple_count is a whole number of tuples, one or more | give tuple_count(1) "
        "or more",
    ),
    "no time": Rule(
        lambda: time(1), lambda: time(0),
        "duration=0 | duration is above zero | give a duration such as '1 minute'"
    ),
    "amount": Rule(
        lambda: delta("v", Decimal("0.5")),
        lambda: delta("v", -1),
        "delta('v', -1) | an amount is a number, 0 or more, or a duration | give one such as 5, 0.5, "
        "Decimal('0.05') or '1 minute'",
    ),
    "amount that is none": Rule(
        lambda: delta("v", 0),
        lambda: delta("v", float("nan")),
        "delta('v', nan) | an amount is a number, 0 or more, or a duration | give one such as 5, 0.5, "
        "Decimal('0.05') or '1 minute'",
    ),
    "column": Rule(
        lambda: punct("flag"), lambda: punct(""),
        "punct('') | punct reads a column by its name | give a non-empty string"
    ),
    "tumbling trigger": Rule(
        lambda: StreamWindow.tumbling(count(3)),
        lambda: StreamWindow.tumbling(count(3), trigger=count(1)),
        f"tumbling(trigger=CountPolicy(n=1)) | {NO_TRIGGER} | leave trigger out, or use StreamWindow.sliding",
    ),
    "tumbling trigger of the class": Rule(
        lambda: StreamWindow(kind="tumbling", evict=count(3)),
        lambda: StreamWindow(kind="tumbling", evict=count(3), trigger=count(1)),
        f"tumbling(trigger=CountPolicy(n=1)) | {NO_TRIGGER} | leave trigger out, or use StreamWindow.sliding",
    ),
    "sliding punct": Rule(
        lambda: StreamWindow.sliding(time(5)),
        lambda: StreamWindow.sliding(punct("flag")),
        f"sliding(evict=PunctPolicy(column='flag')) | a sliding window evicts by one of {SLIDING} | "
        "give one such as count(3)",
    ),
    "punct as a trigger": Rule(
        lambda: StreamWindow.sliding(time(5), time(5)),
        lambda: StreamWindow.sliding(time(5), punct("flag")),
        f"sliding(trigger=PunctPolicy(column='flag')) | a sliding window triggers by one of {SLIDING} | "
        "give one such as count(1)",
    ),
    "two evictions": Rule(
        lambda: StreamWindow.tumbling(count(5)),
        lambda: StreamWindow.tumbling([count(5), time(5)]),  # type: ignore[arg-type]
        "tumbling(evict=[CountPolicy(n=5), TimePolicy(duration=Duration('5 microseconds'))]) | a "
        "tumbling window evicts by one of "
        "('count', 'time', 'delta', 'punct') (semantics 10.2) | give one such as count(3)",
    ),
    "kind": Rule(
        lambda: StreamWindow(kind="sliding", evict=count(3)),
        lambda: StreamWindow(kind="hopping", evict=count(3)),  # type: ignore[arg-type]
        "kind='hopping' | a window is tumbling or sliding | use StreamWindow.tumbling or "
        "StreamWindow.sliding",
    ),
    "partitions without keys": Rule(
        lambda: StreamWindow.tumbling(count(3), partition_eviction=partition_age(5), **KEYED),
        lambda: StreamWindow.tumbling(count(3), partition_eviction=tuple_count(5)),
        ("partition_eviction=TupleCount(n=5) without partition_by | without partition_by "
"there is one partition, which cannot be evicted (semantics 10.2) | give "
"partition_by, or leave partition_eviction out"),
    ),
    "two partition evictions": Rule(
        lambda: StreamWindow.tumbling(count(3), partition_eviction=tuple_count(5), **KEYED),
        lambda: StreamWindow.tumbling(count(3), partition_eviction=(tuple_count(5), partition_count(3)),
        **KEYED),
        "partition_eviction=(TupleCount(n=5), PartitionCount(n=3)) | partitions are evicted by one of "
        "partition_age, partition_count "
        "and tuple_count (semantics 10.2) | give one such as partition_age('1 hour'), or leave it out",
    ),
    "event that never is": Rule(
        lambda: StreamWindow.sliding(count(3), events=["TRIGGER"]),
        lambda: StreamWindow.tumbling(count(3), events=["TRIGGER"]),
        "events=('TRIGGER',) | the events of such a window are ('INSERTION', 'EVICTION', 'FINAL') | "
        "leave 'TRIGGER' out",
    ),
    "event twice": Rule(
        lambda: StreamWindow.tumbling(count(3), events=["FINAL"]),
        lambda: StreamWindow.tumbling(count(3), events=["FINAL", "FINAL"]),
        ("events=('FINAL', 'FINAL') | events are one or more kinds of event, each once | give "
"some of ('INSERTION', 'EVICTION', 'FINAL')"),
    ),
    "aggregates and listener": Rule(
        lambda: StreamWindow.tumbling(count(3), listener=LISTENER),
        lambda: StreamWindow.tumbling(count(3), listener=LISTENER, aggregates=[F.count()]),
        f"aggregates and listener={LISTENER!r} | a pane contains aggregates, or the outputs of a listener | "
        "leave one of them out, or compute them in the listener",
    ),
    "aggregates and columns": Rule(
        lambda: StreamWindow.tumbling(count(3), columns=["v"]),
        lambda: StreamWindow.tumbling(count(3), columns=["v"], aggregates=[F.count()]),
        ("aggregates and columns=('v',) | with aggregates a pane contains no tuples | leave "
"columns out"),
    ),
    "listener that is none": Rule(
        lambda: StreamWindow.tumbling(count(3), listener=LISTENER),
        lambda: StreamWindow.tumbling(count(3), listener=object),
        ("listener=<class 'object'> | a listener is given as a WindowListener, with its name "
"and outputs | give WindowListener(MyClass, name=..., outputs={...})"),
    ),
    "outputs": Rule(
        lambda: WindowListener(object, name="it", outputs={"x": "double"}),
        lambda: WindowListener(object, name="it", outputs={"x": "float"}),  # type: ignore[dict-item]
        ("outputs={'x': 'float'} | a listener's outputs are columns by name, one or more, of "
"the types ['bigint', 'double', 'string', 'boolean'] | give some such as {'total': "
"'bigint'}"),
    ),
    "name of a listener": Rule(
        lambda: WindowListener(object, name="it", outputs={"x": "double"}),
        lambda: WindowListener(object, name="", outputs={"x": "double"}),
        "name='' | a listener has a name | give a non-empty string",
    ),
    "only when full": Rule(
        lambda: StreamWindow.sliding(count(3), only_when_full=True),
        lambda: StreamWindow.sliding(time(3), only_when_full=True),
        ("only_when_full=True with sliding(TimePolicy(duration=Duration('3 microseconds'))) | "
"only_when_full is for sliding windows that are not full when they begin | leave "
"only_when_full out"),
    ),
    "skip unchanged": Rule(
        lambda: StreamWindow.sliding(count(3), time(3), skip_unchanged=True),
        lambda: StreamWindow.sliding(count(3), skip_unchanged=True),
        ("skip_unchanged=True with trigger=CountPolicy(n=1) | only a trigger of time fires "
"without a tuple | leave skip_unchanged out"),
    ),
    "amount that is no decimal": Rule(
        lambda: delta("v", Decimal(0)),
        lambda: delta("v", Decimal("NaN")),
        "delta('v', Decimal('NaN')) | an amount is a number, 0 or more, or a duration | "
        "give one such as 5, 0.5, Decimal('0.05') or '1 minute'",
    ),
    "amount without end": Rule(
        lambda: delta("v", 10**400),
        lambda: delta("v", Decimal("Infinity")),
        "delta('v', Decimal('Infinity')) | an amount is a number, 0 or more, or a duration | "
        "give one such as 5, 0.5, Decimal('0.05') or '1 minute'",
    ),
    "kind that is no word": Rule(
        lambda: StreamWindow(kind="sliding", evict=count(3)),
        lambda: StreamWindow(kind=["sliding"], evict=count(3)),  # type: ignore[arg-type]
        "kind=['sliding'] | a window is tumbling or sliding | use StreamWindow.tumbling or "
        "StreamWindow.sliding",
    ),
    "columns that are no words": Rule(
        lambda: StreamWindow.tumbling(count(3), columns=["a"]),
        lambda: StreamWindow.tumbling(count(3), columns=[["a"]]),
        "column ['a'] | columns are named by non-empty strings | give the column's name",
    ),
    "trigger by count that nobody is told of": Rule(
        lambda: StreamWindow.sliding(count(3), count(1), events=["EVICTION"]),
        lambda: StreamWindow.sliding(count(3), count(2), events=["EVICTION"]),
        "trigger=CountPolicy(n=2) with events=('EVICTION',) | a trigger of count or time raises "
        "TRIGGER, and does nothing else "
        "(semantics 10.2) | leave the trigger out, or add 'TRIGGER' to events",
    ),
    "trigger by time that nobody is told of": Rule(
        lambda: StreamWindow.sliding(count(3), delta("v", 2), events=["EVICTION"]),
        lambda: StreamWindow.sliding(count(3), time(2), events=["EVICTION"]),
        "trigger=TimePolicy(duration=Duration('2 microseconds')) with events=('EVICTION',) | a trigger "
        "of count or time raises TRIGGER, "
        "and does nothing else (semantics 10.2) | leave the trigger out, or add 'TRIGGER' to events",
    ),
    "only when full of nothing": Rule(
        lambda: StreamWindow.sliding(count(3), events=["EVICTION", "TRIGGER"], only_when_full=True),
        lambda: StreamWindow.sliding(count(3), events=["EVICTION"], only_when_full=True),
        ("only_when_full=True with events=('EVICTION',) | only_when_full is for events that have TRIGGER | "
         "leave "
"only_when_full out"),
    ),
    "skip unchanged of nothing": Rule(
        lambda: StreamWindow.sliding(count(3), time(3), events=["TRIGGER"], skip_unchanged=True),
        lambda: StreamWindow.sliding(count(3), time(3), events=["FINAL"], skip_unchanged=True),
        ("skip_unchanged=True with events=('FINAL',) | skip_unchanged is for events that have TRIGGER | "
         "leave skip_unchanged out"),
    ),
    "flush of nothing": Rule(
        lambda: StreamWindow.tumbling(count(3), events=["FINAL"], flush_on_final=True),
        lambda: StreamWindow.tumbling(count(3), events=["INSERTION"], flush_on_final=True),
        ("flush_on_final=True with events=('INSERTION',) | flush_on_final is for events that have "
"EVICTION or FINAL | leave flush_on_final out"),
    ),
    "flush on final": Rule(
        lambda: StreamWindow.tumbling(count(3), flush_on_final=True),
        lambda: StreamWindow.sliding(count(3), flush_on_final=True),
        ("flush_on_final=True with sliding(CountPolicy(n=3)) | flush_on_final is for tumbling "
"windows | leave flush_on_final out"),
    ),
    "null keys": Rule(
        lambda: StreamWindow.tumbling(count(3), null_keys=True, **KEYED),
        lambda: StreamWindow.tumbling(count(3), null_keys=True),
        "null_keys=True with tumbling(CountPolicy(n=3)) | without partition_by there are no keys | "
        "leave null_keys out",
    ),
    "names": Rule(
        lambda: StreamWindow.tumbling(count(3), partition_by=["name"]),
        lambda: StreamWindow.tumbling(count(3), partition_by=["event"]),
        ("'event' twice | partition_by, aggregates or outputs, and the pane's own columns "
"('event', 'processing_time', 'window_start', 'window_end', 'timing', 'index', "
"'nonspeculative_index', 'is_first', 'is_last', 'op', 'delta') have different names "
"| give aggregates an .alias(...), or rename the column"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rules(name: str) -> None:
    """Policies and their numbers, and options without an effect (semantics 10.2, 10.3)."""
    check(RULES[name])


LISTENERS = {listener.name: listener for listener in (COUNTING, EVICTING)}


def test_a_delta_keeps_its_duration() -> None:
    spec = StreamWindow.sliding(delta("ts", "1 minute"), delta("n", timedelta(seconds=1)))
    assert to_dict(spec)["evict"] == {"kind": "delta", "column": "ts", "amount": {"us": 60_000_000}}
    assert from_json(to_json(spec)) == spec
    assert describe(spec).splitlines()[1] == (
        "  The oldest tuples are evicted before a tuple is inserted whose ts is more than "
        "1 minute above theirs."
    )


def test_changed_fields() -> None:
    old, new = (
        StreamWindow.tumbling(count(3)),
        StreamWindow.tumbling(count(4), flush_on_final=True, listener=LISTENER),
    )
    assert changed_fields(to_dict(old), to_dict(new)) == ["evict", "listener", "flush_on_final"]
    other = WindowOperator(window=Tumbling(5), aggregates=[F.count()])
    assert changed_fields(to_dict(old), to_dict(other)) == ["stream_window"]
    assert (
        changed_fields(to_dict(old), {"stream_window": "tumbling", "evict": {"kind": "count", "n": 3}}) == []
    )


def test_documents_with_the_version_are_compared() -> None:
    old, new = (json.loads(to_json(StreamWindow.tumbling(count(n), listener=LISTENER))) for n in (3, 4))
    assert old["panewise"] == 1
    assert changed_fields(old, old) == []
    assert changed_fields(old, new) == ["evict"]
    assert changed_fields(old, {**new, "panewise": 1}) == ["evict"]
    other = json.loads(to_json(WindowOperator(window=Tumbling(5), aggregates=[F.count()])))
    assert changed_fields(old, other) == ["stream_window"]
    with pytest.raises(SpecError, match="this version of panewise reads format 1"):
        changed_fields(old, {**new, "panewise": 2})


def test_a_listener_in_a_document_has_outputs() -> None:
    with pytest.raises(SpecError) as caught:
        complete(
            {"stream_window": "tumbling", "evict": {"kind": "count", "n": 1}, "listener": {"name": "it"}}
        )
    assert (
        caught.value.args[0] == "listener.outputs is missing | outputs has no default | give listener.outputs"
    )


READ = [
    (
        {"stream_window": "tumbling", "evict": {"kind": "delta", "column": "v", "amount": "NaN"}},
        (
            "delta('v', Decimal('NaN')) | an amount is a number, 0 or more, or a duration | "
            "give one such as 5, 0.5, Decimal('0.05') or '1 minute'"
        ),
    ),
    ({"stream_window": "tumbling"}, "evict is missing | evict has no default | give evict"),
    (
        {"stream_window": "tumbling", "evict": {"kind": "weight"}},
        ("evict.kind='weight' | the known kinds are ['count', 'delta', 'punct', 'time'] | give {'kind': "
        "...} with one of these"),
    ),
    ({"stream_window": "tumbling", "evict": {"kind": "count"}},
    "evict.n is missing | n has no default | give evict.n"),
    (
        {"stream_window": "tumbling", "evict": {"kind": "delta", "column": "v", "amount": "much"}},
        (
            "evict.amount='much' | evict.amount is a number, a decimal as a string, or a duration as "
            "{'us': N} | "
            "give a number, a decimal as a string, or a duration as {'us': N}"
        ),
    ),
    (
        {"stream_window": "tumbling", "evict": {"kind": "count", "n": 1}, "listener": {"name": "it"}},
        "listener.name='it' | the listeners that are given are [] | give user_listeners={'it': ...}",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message"), READ)
def test_documents_that_are_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        from_dict(document)
    assert caught.value.args[0] == message


def test_outputs_of_a_listener_are_those_that_were_written() -> None:
    document = to_dict(StreamWindow.tumbling(count(3), listener=LISTENER))
    other = WindowListener(object, name="it", outputs={"y": "bigint"})
    with pytest.raises(SpecError, match="the outputs of the listener given as 'it' are"):
        from_dict(document, user_listeners={"it": other})


def test_words() -> None:
    spec = StreamWindow.tumbling(
        delta("age", 2),
        partition_by=["k", "l"],
        partition_eviction=tuple_count(9),
        aggregates=[F.count().alias("n")],
        flush_on_final=True,
    )
    assert describe(spec) == "\n".join([
        "Window: one tumbling window for each k and l.",
        ("  All tuples are evicted before a tuple is inserted whose age is more than 2 above "
"that of the oldest."),
        "Output: EVICTION, each with n of its tuples.",
        "  Tuples that remain at the end of input raise an EVICTION.",
        "Invalid rows: age is null or NaN.",
        "Order: tuples are taken one by one, as they stand in the batch.",
        ("State: while there are more than 9 tuples in all partitions, the partition whose "
"last insertion is oldest is evicted."),
    ])  # fmt: skip
