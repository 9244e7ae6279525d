"""Which changes of a window operator are taken over on stored state (semantics 47.2 to 47.8)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from panewise.spec.codec.same_aggregates import same_aggregates
from panewise.spec.families.input_changes import INPUT_CHANGES, Check, always
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.rules.sliding import fires_only_when_complete
from panewise.spec.triggers.simple import Never
from panewise.spec.watermarks import has_key_watermarks
from panewise.spec.windows.sliding import Sliding

_RARELY: Final = "AfterWatermark(early=AfterCount(10**12))"


def _trigger(old: WindowOperator, new: WindowOperator) -> str | None:
    """Refuses triggers of sliding windows for which windows are stored in another way than before."""
    if not isinstance(new.window, Sliding):
        return None
    if fires_only_when_complete(new.trigger) and not fires_only_when_complete(old.trigger):
        return (
            "sliding windows that may have fired early need a trigger that may fire early, "
            f"such as {_RARELY} (semantics 47.18)"
        )
    never = (isinstance(spec.trigger, Never) and spec.accumulation == "discarding" for spec in (old, new))
    if [*never] == [False, True]:
        return f"discarding sliding windows cannot change to Never(), but to {_RARELY} (semantics 47.18)"
    return None


def _accumulation(old: WindowOperator, new: WindowOperator) -> str | None:
    if new.evictor is not None or new.delta is not False:
        return (
            "with an evictor or a delta, which rows a window stores depends on the "
            "accumulation (semantics 47.2)"
        )
    if isinstance(new.window, Sliding) and new.accumulation == "discarding":
        return (
            "sliding windows store sums of all their rows, which no firing discards later (semantics 47.18)"
        )
    return None


def _lateness(old: WindowOperator, new: WindowOperator) -> str | None:
    if isinstance(new.window, Sliding) and new.accumulation == "discarding":
        return "how discarding sliding windows are stored depends on their lateness (semantics 47.2)"
    raised = old.lateness_us is not None and (new.lateness_us is None or new.lateness_us > old.lateness_us)
    if raised and has_key_watermarks(new.watermark):
        return "with a watermark of each key the allowed lateness may only be lowered (semantics 47.2)"
    return None


def _timestamp(old: WindowOperator, new: WindowOperator) -> str | None:
    """Refuses timestamps that are computed from rows, as their times were not stored."""
    rule = "a state has no event times of rows that another timestamp did not need (semantics 47.2)"
    return rule if new.timestamp in ("earliest", "latest") else None


def _aggregates(old: WindowOperator, new: WindowOperator) -> str | None:
    """Refuses other aggregates where windows store rows with the columns of the old ones."""
    if same_aggregates(old.aggregates, new.aggregates) == list(range(len(old.aggregates))):
        return None  # other names
    if new.evictor is not None:
        return "with an evictor, windows store only the columns that were read before (semantics 47.2)"
    ordered = any(aggregate.ordered for aggregate in (*old.measures, *new.measures))
    if isinstance(new.window, Sliding) and ordered:
        return (
            "for aggregates in arrival order, sliding windows store only the columns that these read "
            "(semantics 47.2)"
        )
    return None


CHANGEABLE: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "aggregates": _aggregates,
        "trigger": _trigger,
        "accumulation": _accumulation,
        "allowed_lateness": _lateness,
        "timestamp": _timestamp,
        **INPUT_CHANGES,
        **dict.fromkeys(
            ("drop_by", "order", "on_time", "closing", "only_updated", "evaluate", "max_windows"), always
        ),
    }
)
# Those of the operator of a chain. Stages store what depends on the other fields.
OF_CHAINS: Final = ("trigger", "allowed_lateness", "drop_by", "order", "on_time", "closing", *INPUT_CHANGES)
