"""Triggers: every rule, when they can finish or fire at all, and descriptions (semantics 16, 19)."""

import warnings
from datetime import timedelta
from typing import Any

import pytest

from panewise import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    AfterWatermark,
    Always,
    DataLossWarning,
    Duration,
    Every,
    IdleTriggerWarning,
    Never,
    OnDelta,
    OnPunctuation,
    OrFinally,
    Repeatedly,
    SpecError,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.spec.describe.triggers import when
from panewise.spec.triggers.composite import Trigger, finish, fires_once
from tests.spec.cases import Rule, check

A_TRIGGER = "is one of panewise's triggers | give one, such as"
ONE_SIDE = "applies on one side of the end of a window, so it cannot wait for the end itself"
RULES = {
    "early is a trigger": Rule(
        lambda: AfterWatermark(early=Never()),
        lambda: AfterWatermark(early="always"),  # type: ignore[arg-type]
        f"early='always' | early {A_TRIGGER} early=Always()",
    ),
    "late does not wait for the end": Rule(
        lambda: AfterWatermark(late=Repeatedly(AfterCount(1))),
        lambda: AfterWatermark(late=Repeatedly(AfterWatermark())),
        f"late=Repeatedly(trigger=AfterWatermark(early=None, late=None)) | late {ONE_SIDE} | leave "
        "AfterWatermark out of late",
    ),
    "what is repeated is a trigger": Rule(
        lambda: Repeatedly(AfterCount(1)),
        lambda: Repeatedly(3),  # type: ignore[arg-type]
        f"trigger=3 | trigger {A_TRIGGER} trigger=Always()",
    ),
    "any of some": Rule(
        lambda: AfterAny(AfterCount(1)),
        lambda: AfterAny(),
        "AfterAny() | AfterAny is made of one trigger or more | give some: AfterAny(AfterCount(100), ...)",
    ),
    "all of triggers": Rule(
        lambda: AfterAll(AfterCount(1), AfterCount(2)),
        lambda: AfterAll(AfterCount(1), None),  # type: ignore[arg-type]
        f"triggers[1]=None | triggers[1] {A_TRIGGER} triggers[1]=Always()",
    ),
    "until fires once": Rule(
        lambda: OrFinally(Always(), until=AfterAny(AfterCount(1), AfterWatermark())),
        lambda: OrFinally(Always(), until=AfterEach(AfterCount(1), AfterCount(2))),
        "until=AfterEach(AfterCount(n=1), AfterCount(n=2)) | until is a trigger that finishes whenever "
        "it fires | give AfterCount, AfterProcessingTime, AfterSilence, AfterEventTimeDelay, OnPunctuation, "
        "OnDelta, AfterWatermark(), or AfterAny or AfterAll of such",
    ),
    "a punctuation has a column": Rule(
        lambda: OnPunctuation("over"),
        lambda: OnPunctuation(""),
        "column='' | a trigger reads a column by its name | give a non-empty string",
    ),
}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("align", lambda align: AfterProcessingTime(0, align=align)),
        ("duration", AfterSilence),
        ("period", AfterEventTime),
    ],
)
def test_durations_are_above_zero(name: str, make: Any) -> None:
    message = f"{name}=0 | {name} is above zero | give a {name} such as '1 minute'"
    check(Rule(lambda: make(1), lambda: make(0), message))


@pytest.mark.parametrize("make", [AfterProcessingTime, AfterEventTimeDelay])
def test_delays_are_not_negative(make: Any) -> None:
    check(Rule(lambda: make(0), lambda: make(-1), "delay=-1 | delay is not negative | give 0 or more"))


@pytest.mark.parametrize(
    ("obeys", "breaks"), [(0, -0.5), (1e300, float("inf")), (10**308, 10**309), (1, True)]
)
def test_amounts_are_finite_numbers(obeys: Any, breaks: Any) -> None:
    rule = "an amount is a number, 0 or more, or a duration"
    message = f"amount={breaks} | {rule} | give one such as 0.5 or '1 second'"
    check(Rule(lambda: OnDelta("v", obeys), lambda: OnDelta("v", breaks), message))


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


@pytest.mark.parametrize("amount", ["5 s", timedelta(seconds=5), Duration(5_000_000), 5_000_000])
def test_an_amount_of_time_is_microseconds(amount: Any) -> None:
    assert OnDelta("seen_at", amount) == OnDelta("seen_at", 5_000_000)


ONCE, END, REPEATED = AfterCount(1), AfterWatermark(), Every(1)


@pytest.mark.parametrize(
    ("trigger", "wanted", "once"),
    [
        (AfterProcessingTime(1), "any_time", True),
        (OnPunctuation("p"), "any_time", True),
        (OnDelta("v", 1), "any_time", True),
        (AfterSilence(1), "any_time", True),
        (AfterEventTimeDelay(1), "any_time", True),
        (AfterEventTime(1), "never", False),
        (END, "at_end", True),
        (AfterWatermark(early=ONCE), "at_end", False),
        (AfterWatermark(late=ONCE), "never", False),
        (Repeatedly(ONCE), "never", False),
        (AfterAny(REPEATED, ONCE), "any_time", False),
        (AfterAny(REPEATED, END), "at_end", False),
        (AfterAll(ONCE, END), "at_end", True),
        (AfterAll(ONCE, REPEATED), "never", False),
        (AfterEach(ONCE, END), "at_end", False),
        (AfterEach(ONCE, ONCE), "any_time", False),
        (OrFinally(REPEATED, END), "at_end", False),
        (OrFinally(END, ONCE), "any_time", False),
    ],
)
def test_when_a_trigger_can_finish(trigger: Trigger, wanted: str, once: bool) -> None:
    assert (finish(trigger), fires_once(trigger)) == (wanted, once)


@pytest.mark.parametrize(
    ("trigger", "idle"),
    [
        (Never(), None),
        (AfterWatermark(early=Never()), None),
        (AfterAny(Never(), ONCE), None),
        (AfterAll(ONCE, Never()), AfterAll(ONCE, Never())),
        (Repeatedly(Never()), Repeatedly(Never())),
        (AfterEach(ONCE, REPEATED), None),
        (AfterEach(REPEATED, ONCE), ONCE),
        (OrFinally(AfterEach(Repeatedly(ONCE), END), ONCE), END),
    ],
)
def test_parts_that_can_never_fire_warn(trigger: Trigger, idle: Trigger | None) -> None:
    """semantics 16.13: a part of a trigger that can never fire warns, or raises with `strict=True`."""
    fields: dict[str, Any] = {"window": Tumbling(1), "aggregates": [F.count()], "trigger": trigger}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WindowOperator(**fields)
    messages = [str(warning.message) for warning in caught if warning.category is IdleTriggerWarning]
    rule = "a part of a trigger that can never fire has no effect | leave it out"
    texts = [message.rpartition(" [PW-")[0] for message in messages]
    assert texts == ([] if idle is None else [f"{idle!r} in {trigger!r} | {rule}"])
    assert all(warning.filename == __file__ for warning in caught)
    if idle is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataLossWarning)
            with pytest.raises(SpecError):
                WindowOperator(**fields, strict=True)


def test_columns_of_triggers_are_read() -> None:
    spec = WindowOperator(
        window=Tumbling(1),
        aggregates=[F.sum("v")],
        trigger=Repeatedly(AfterAny(OnPunctuation("over"), OnDelta("v", 1))),
    )
    assert spec.columns_read == ("event_time", "v", "over")


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (
            AfterProcessingTime("5 s", align="1 min"),
            (
                "when processing time has advanced by 5 seconds since the first new row, and "
                "then at the next multiple of 1 minute"
            ),
        ),
        (AfterEventTime("5 min"), ("when the watermark passes a multiple of 5 minutes, if rows are pending")),
        (AfterSilence("10 s"), "when processing time has advanced by 10 seconds since the last row"),
        (
            AfterEventTimeDelay("5 min"),
            "when the watermark has reached the event time of the first new row plus 5 minutes",
        ),
        (
            Repeatedly(AfterEventTimeDelay(0)),
            "whenever the watermark has reached the event time of the first new row",
        ),
        (Every("1 min", aligned=True), ("at multiples of 1 minute of processing time, if rows are pending")),
        (
            Every("1 min", aligned=True, offset="59 s"),
            "59 seconds after the multiples of 1 minute of processing time, if rows are pending",
        ),
        (OnDelta("v", 0.5), "when v differs by more than 0.5 from its value at the last such firing"),
        (
            AfterAny(OnPunctuation("over"), Always()),
            "when a row whose over is true has arrived or for each batch with rows",
        ),
        (
            AfterAll(OnPunctuation("over"), AfterCount(2)),
            (
                "when a row whose over is true has arrived and 2 rows or more have arrived since "
                "the last firing"
            ),
        ),
        (
            AfterEach(AfterCount(1), Repeatedly(Always())),
            ("first when a row has arrived since the last firing, then repeatedly: for each batch with rows"),
        ),
        (
            OrFinally(Always(), AfterWatermark()),
            "for each batch with rows; for the last time when the watermark reaches the end",
        ),
        (
            Repeatedly(AfterWatermark(early=Always(), late=Always())),
            (
                "whenever the watermark reaches the end; before that for each batch with rows; after that "
                "for each batch with rows"
            ),
        ),
    ],
)
def test_words(trigger: Trigger, words: str) -> None:
    assert when(trigger, "batch") == words
