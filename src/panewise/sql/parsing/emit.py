"""The words of EMIT, in one table: what each says of trigger, accumulation and lateness (semantics 46.7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from panewise.chrono import Duration
from panewise.spec import (
    AfterCount,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    Every,
    Never,
    Trigger,
)
from panewise.sql.parsing.error_places import Failure, Placing
from panewise.sql.parsing.syntax import Emit, Phrase

Part: TypeAlias = Literal["plan", "early", "late", "accumulation", "lateness"]

# In a form these words stand for a value: an interval, and a number of rows.
INTERVAL: Final = "<interval>"
ROWS: Final = "<rows>"


@dataclass(frozen=True)
class EmitForm:
    """A form of EMIT.

    Attributes:
        part: what it sets. A query sets each part once.
        value: what it sets it to, or a function of the interval or the number of rows.
        meaning: the meaning in words.
    """

    part: Part
    value: Any
    meaning: str


_WATERMARK: Final = EmitForm("plan", "watermark", "a pane when the watermark reaches the end of the window")
_FINAL: Final = EmitForm("plan", "final", "one pane, when the window expires and no row can change it")
_CHANGES: Final = EmitForm("plan", "changes", "a pane for each batch that adds rows, and no others")
_EARLY_ROWS: Final = EmitForm("early", AfterCount, "before the end, a pane for each n rows")
_EARLY_TIME: Final = EmitForm("early", Every, "before the end, a pane in each period in which rows arrive")
_EARLY_DELAY: Final = EmitForm(
    "early", AfterProcessingTime, "before the end, a pane this long after its first row"
)
_EARLY_UPDATE: Final = EmitForm("early", Always(), "before the end, a pane for each batch that adds rows")
_LATE_ROWS: Final = EmitForm("late", AfterCount, "after the end, a pane for each n rows")
_LATE_TIME: Final = EmitForm("late", Every, "after the end, a pane in each period in which rows arrive")
_LATE_UPDATE: Final = EmitForm(
    "late", Always(), "after the end, a pane for each batch that adds rows (the default)"
)
_LATE_NEVER: Final = EmitForm("late", None, "after the end, no pane; later rows are late")
_LATENESS: Final = EmitForm("lateness", Duration.of, "how long after its end a window accepts rows")

FORMS: Final[Mapping[tuple[str, ...], EmitForm]] = {
    ("AFTER", "WATERMARK"): _WATERMARK,
    ("FINAL",): _FINAL,
    ("ON", "WINDOW", "CLOSE"): _FINAL,
    ("AFTER", "WINDOW", "CLOSE"): _FINAL,
    ("CHANGES",): _CHANGES,
    ("ON", "UPDATE"): _CHANGES,
    ("EARLY", "EVERY", ROWS): _EARLY_ROWS,
    ("EVERY", ROWS): _EARLY_ROWS,
    ("EARLY", "EVERY", INTERVAL): _EARLY_TIME,
    ("EVERY", INTERVAL): _EARLY_TIME,
    ("PERIODIC", INTERVAL): _EARLY_TIME,
    ("WITH", "DELAY", INTERVAL, "BEFORE", "WATERMARK"): _EARLY_TIME,
    ("EARLY", "AFTER", "DELAY", INTERVAL): _EARLY_DELAY,
    ("AFTER", "DELAY", INTERVAL): _EARLY_DELAY,
    ("EARLY", "EVERY", "UPDATE"): _EARLY_UPDATE,
    ("EARLY", "UPDATE"): _EARLY_UPDATE,
    ("EVERY", "UPDATE"): _EARLY_UPDATE,
    ("UPDATE",): _EARLY_UPDATE,
    ("WITHOUT", "DELAY", "BEFORE", "WATERMARK"): _EARLY_UPDATE,
    ("LATE", "EVERY", ROWS): _LATE_ROWS,
    ("LATE", "EVERY", INTERVAL): _LATE_TIME,
    ("WITH", "DELAY", INTERVAL, "AFTER", "WATERMARK"): _LATE_TIME,
    ("LATE", "EVERY", "UPDATE"): _LATE_UPDATE,
    ("LATE", "UPDATE"): _LATE_UPDATE,
    ("WITHOUT", "DELAY", "AFTER", "WATERMARK"): _LATE_UPDATE,
    ("LATE", "NEVER"): _LATE_NEVER,
    ("DISCARDING",): EmitForm("accumulation", "discarding", "a pane contains the rows since the last pane"),
    ("ACCUMULATING",): EmitForm("accumulation", "accumulating", "a pane contains all rows of its window"),
    ("RETRACTING",): EmitForm(
        "accumulation", "retracting", "as accumulating, and the last pane is retracted"
    ),
    ("WITH", "LATENESS", INTERVAL): _LATENESS,
    ("WITH", "ALLOWED", "LATENESS", INTERVAL): _LATENESS,
    ("WITH", "LATENESS", "UNLIMITED"): EmitForm("lateness", "unlimited", "windows accept rows forever"),
}
# What a query of single rows may say: rows that are final, and changes.
PLAIN: Final = frozenset(
    {("AFTER", "WATERMARK"), ("FINAL",), ("ON", "WINDOW", "CLOSE"), ("AFTER", "WINDOW", "CLOSE")}
)
CHANGES: Final = frozenset({("CHANGES",), ("ON", "UPDATE")})
FIRST_WORDS: Final = frozenset(words[0] for words in FORMS) | {"STREAM"}


def is_changes(emit: Emit | None) -> bool:
    """Returns whether EMIT says CHANGES or ON UPDATE, and nothing else."""
    return emit is not None and emit.words <= CHANGES


def check_plain(emit: Emit | None, fail: Failure) -> None:
    """Refuses an EMIT of rows that are emitted more than once.

    Raises:
        SqlError: at the clause.
    """
    if emit is not None and not emit.words <= PLAIN:
        rule = "a row is emitted once, when the watermark has passed it"
        raise fail("EMIT", rule, "write EMIT AFTER WATERMARK, or leave it out", emit.span)


def emission(emit: Emit | None, fail: Failure) -> dict[str, Any]:
    """Returns what EMIT says, as fields of a WindowOperator.

    Args:
        emit: the clause, None if there is none.
        fail: makes an error at a part of the text.

    Raises:
        SqlError: if two parts contradict each other.
    """
    if emit is None:
        return {}
    said: dict[str, Any] = {}
    for phrase in emit.phrases:
        form = FORMS[phrase.words]
        if form.part in said:
            rule = f"EMIT says once what its {form.part} part is (semantics 46.7)"
            raise fail(" ".join(phrase.words), rule, "leave one of the two out", phrase.span)
        said[form.part] = _value(form, phrase, fail)
    plan = said.get("plan", "watermark")
    if plan in ("final", "changes") and ({"early", "late"} & {*said}):
        rule = f"with {plan.upper()} the query says by itself when panes come"
        raise fail("EMIT", rule, "leave EARLY and LATE out, or this word", emit.span)
    fields: dict[str, Any] = {"trigger": _trigger(plan, said)}
    if plan == "changes":
        fields["on_time"] = "if_pending"  # an unchanged window is no change
    if "accumulation" in said:
        fields["accumulation"] = said["accumulation"]
    if "lateness" in said:
        fields["allowed_lateness"] = said["lateness"]
    return fields


def _value(form: EmitForm, phrase: Phrase, fail: Failure) -> Any:
    if phrase.value is None:
        return form.value
    with Placing(fail, phrase.span):
        return form.value(phrase.value)


def _trigger(plan: str, said: Mapping[str, Any]) -> Trigger:
    if plan == "final":
        return Never()
    early, late = said.get("early"), said.get("late", Always())
    if plan == "changes":
        early = Always()
    return AfterWatermark(early=early, late=late)
