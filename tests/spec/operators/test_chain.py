"""Chains as values: what is refused, JSON in both directions, and descriptions."""

import json

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.codec import changed_fields, complete, from_dict, from_json, to_dict, to_json
from panewise.spec.describe import describe
from panewise.spec.operators.chain import last_stage, needs_retractions, respecified, stages_of

TOTAL = F.sum("n").alias("total")


def first(**fields: object) -> pw.WindowOperator:
    given = {
        "keys": ["a", "b"],
        "window": pw.Tumbling(10),
        "aggregates": [F.count().alias("n"), F.collect_list("v").alias("all")],
    }
    return pw.WindowOperator(**{**given, **fields})  # type: ignore[arg-type]


CHAIN = first().then(keys=["a"], aggregates=[TOTAL]).then(aggregates=[F.max("total").alias("most")])


def test_a_chain_is_a_value() -> None:
    again = pw.Chain(
        first(),
        [pw.Stage(keys=["a"], aggregates=[TOTAL]), pw.Stage(aggregates=[F.max("total").alias("most")])],
    )  # type: ignore[arg-type]
    assert again == CHAIN
    assert hash(again) == hash(CHAIN)
    assert CHAIN.keys == ()
    assert CHAIN.columns_read == first().columns_read
    assert (CHAIN.ports[INPUT], first().ports[INPUT]) == (first(), first())


def test_an_operator_and_a_chain_are_read_and_changed_alike() -> None:
    """The stages choose the accumulation if it was not given (semantics 30.4)."""
    assert (stages_of(first()), last_stage(first())) == ((), first())
    assert (stages_of(CHAIN), last_stage(CHAIN)) == (CHAIN.stages, CHAIN.stages[-1])
    assert respecified(first(), timestamp="end") == first(timestamp="end")
    assert respecified(CHAIN, timestamp="end") == pw.Chain(first(timestamp="end"), CHAIN.stages)
    sessions = respecified(CHAIN, window=pw.Session(10))
    assert sessions.ports[INPUT].accumulation == "retracting"
    named = respecified(CHAIN, accumulation="discarding")
    assert respecified(named, window=pw.Session(10)).ports[INPUT].accumulation == "discarding"
    assert [needs_retractions(spec) for spec in (CHAIN, sessions, first(window=pw.Session(10)))] == [
        False,
        True,
        False,
    ]
    assert needs_retractions(first().then(keys=["n"], aggregates=[TOTAL]))


def test_the_default_accumulation_of_a_chain() -> None:
    """semantics 21, 30.4, 30.5: retracting is the default where a stage needs retractions.

    A mode that is named stays. With `only_updated` such a chain is refused.
    """
    by_count = first().then(keys=["n"], aggregates=[TOTAL])
    late = CHAIN.then(keys=["most"], aggregates=[F.count()])
    sessions = first(window=pw.Session(10)).then(aggregates=[TOTAL])
    assert (first(window=pw.Session(10)).accumulation, CHAIN.first.accumulation) == (
        "accumulating",
        "accumulating",
    )
    for chain in (by_count, late, sessions):
        assert chain.first.accumulation == "retracting"
        assert to_dict(chain)["accumulation"] == "retracting"
        left_out = {name: value for name, value in to_dict(chain).items() if name != "accumulation"}
        assert from_dict(left_out) == chain
        assert complete(left_out) == to_dict(chain)
    named = first(window=pw.Session(10), accumulation="discarding").then(aggregates=[TOTAL])
    assert named.first.accumulation == "discarding"
    with pytest.raises(SpecError, match="use accumulation='retracting'"):
        first(window=pw.Session(10), only_updated=True).then(aggregates=[TOTAL])


def test_shared_keys_are_those_of_every_stage() -> None:
    assert CHAIN.shared_keys == ()
    assert first().then(keys=["n", "b"], aggregates=[F.count()]).shared_keys == ("b",)
    renamed = (
        first().then(keys=["a"], aggregates=[F.count().alias("b")]).then(keys=["b"], aggregates=[F.count()])
    )
    assert renamed.shared_keys == ()


@pytest.mark.parametrize(
    ("keys", "aggregates", "fields", "message"),
    [
        (
            ["c"],
            [TOTAL],
            {},
            r"then: column 'c' \| .* which are \['a', 'b', 'n', 'all'\] \| use one of these",
        ),
        (["a"], [F.sum("v").alias("s")], {}, r"then: column 'v'"),
        (["a"], [F.max_by("n", "v").alias("s")], {}, r"then: column 'v'"),
        (["a"], [TOTAL.alias("a")], {}, r"then: 'a' twice"),
        (["a", "a"], [TOTAL], {}, r"then: 'a' twice"),
        (["a"], [TOTAL.alias("timing")], {}, r"then: 'timing' twice"),
        (["a"], [TOTAL.alias("timestamp")], {"timestamp": "end"}, r"then: 'timestamp' twice"),
        (["a"], [], {}, r"aggregates=\(\)"),
        (["a"], ["n"], {}, r"aggregates=\['n'\]"),
        ("a", [TOTAL], {}, r"keys='a' \| keys is a list"),
        ([1], [TOTAL], {}, r"column 1 \| columns are named by non-empty strings"),
        (["all"], [TOTAL], {}, r"then: key 'all', a collect_list \| a key is a simple value"),
        (
            ["n"],
            [TOTAL],
            {"accumulation": "accumulating"},
            r"key 'n', an aggregate, accumulation='accumulating' \| .* \| use .*'retracting'",
        ),
        (
            [],
            [TOTAL],
            {"watermark": pw.StreamTime(5)},
            r"then after watermark=StreamTime.* \| give per='all', or use another watermark",
        ),
        (
            ["a"],
            [TOTAL],
            {"delta": True},
            r"then after delta=True \| .* \| leave delta out, or give the operator a collect_list",
        ),
        (
            [],
            [TOTAL],
            {"accumulation": "accumulating", "window": pw.Session(5)},
            r"then after Session.* \| use accumulation='retracting'",
        ),
    ],
)
def test_stages_that_are_refused(
    keys: list[str], aggregates: list[pw.Aggregate], fields: dict[str, object], message: str
) -> None:
    """semantics 30.1, 30.4, 30.5, 30.6: keys, aggregates and operators that a stage refuses."""
    with pytest.raises(SpecError, match=message):
        first(**fields).then(keys=keys, aggregates=aggregates)


def test_chains_that_are_refused() -> None:
    for operator in (CHAIN, pw.WindowOperator, None):
        with pytest.raises(SpecError, match="a chain begins with a WindowOperator"):
            pw.Chain(operator, CHAIN.stages)  # type: ignore[arg-type]
    for stages in ((), (first(),)):
        with pytest.raises(SpecError, match="one or more stages follow the first operator"):
            pw.Chain(first(), stages)  # type: ignore[arg-type]


@pytest.mark.parametrize("accumulation", ["discarding", "retracting"])
def test_aggregates_as_keys_in_retracting_and_discarding_mode(accumulation: str) -> None:
    assert first(accumulation=accumulation).then(keys=["n"], aggregates=[F.count()]).keys == ("n",)


def test_json_both_ways() -> None:
    joined = pw.UserAggregate.reduce("joined", lambda one, other: one + other, result="string")
    chain = CHAIN.then(aggregates=[joined("most").alias("text"), F.top_n("most", 2)])
    assert from_json(to_json(chain), {"joined": joined}) == chain
    assert json.loads(to_json(chain))["then"][0] == {
        "keys": ["a"],
        "aggregates": [{"fn": "sum", "column": "n", "name": "total"}],
    }
    assert from_dict({**to_dict(first()), "then": []}) == first()


def test_a_changed_stage_is_found() -> None:
    other = first().then(keys=["a"], aggregates=[TOTAL])
    assert changed_fields(to_dict(CHAIN), to_dict(other)) == ["then"]
    assert changed_fields(to_dict(first()), to_dict(other)) == ["then"]
    assert "then" not in complete(to_dict(first()))
    assert complete(to_dict(CHAIN)) == to_dict(CHAIN)


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ({}, r"then=\{\} \| then is a list of stages"),
        ([{"keys": ["a"]}], r"then\[0\].aggregates is missing"),
        (
            [{"aggregates": [{"fn": "count"}], "window": 1}],
            r"then\[0\].window=1 \| the known fields are \['aggregates', 'keys'\]",
        ),
        ([{"aggregates": [{"fn": "cunt"}]}], r"then\[0\].aggregates\[0\].fn='cunt'"),
        ([{"aggregates": [{"fn": "count"}], "keys": "a"}], r"then\[0\].keys='a'"),
    ],
)
def test_dicts_that_are_no_chain(then: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        from_dict({**to_dict(first()), "then": then})


def test_words() -> None:
    discarding = first(accumulation="discarding")
    chain = discarding.then(keys=["a"], aggregates=[TOTAL]).then(aggregates=CHAIN.stages[1].aggregates)
    lines = describe(chain).splitlines()
    assert lines[: len(describe(discarding).splitlines())] == describe(discarding).splitlines()
    assert "It contains total of the latest pane of each key of the stage before." in describe(CHAIN)
    assert lines[-5:] == [
        (
            "Then: whenever panes are emitted, one pane with their timing for each of their "
            "windows and each a."
        ),
        "  It contains total of the panes that were emitted together.",
        "Then: whenever panes are emitted, one pane with their timing for each of their windows.",
        "  It contains most of the panes that were emitted together.",
        (
            "Shards: one, as a stage can combine all panes. With a key that all stages keep "
            "there would be several."
        ),
    ]
    told = describe(first(accumulation="retracting").then(keys=["a"], aggregates=[TOTAL]))
    assert "every pane of the stage before that is not retracted" in told
    assert told.endswith("Shards: keys are spread over shards by a, which all stages keep.")
    updated = describe(
        first(accumulation="accumulating", only_updated=True).then(keys=["a"], aggregates=[TOTAL])
    )
    assert (
        "the latest pane of each key of the stage before; a pane equal to the previous one is not emitted."
    ) in updated
