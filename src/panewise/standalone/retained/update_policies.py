"""The update policies of S1's windows: when a window with new messages emits (semantics 26.4)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

from panewise.chrono import MAX_INSTANT, Duration, DurationLike
from panewise.engine.windowing.trigger.periods import last_boundary
from panewise.errors import SpecError
from panewise.spec import Always, Every


@dataclass(frozen=True)
class AfterFirst:
    """Emits a length of processing time after the first message that has not been emitted."""

    delay: int


UpdatePolicy: TypeAlias = Always | Every | AfterFirst
UpdatePolicyLike: TypeAlias = Literal["each"] | DurationLike | Every
NEVER: Final = MAX_INSTANT


def update_policy(given: Any, name: Literal["early", "late"]) -> UpdatePolicy:
    """Returns a policy. A period is aligned for `early`, and counts from the first message for `late`.

    Raises:
        SpecError: if the value is none, or a period is not above zero or not aligned.
    """
    if given == "each":
        return Always()
    if isinstance(given, Every):
        if not given.aligned:
            rule = "the periods of a policy are aligned, or begin with the first message"
            raise SpecError(f"{name}={given!r}", rule, "give aligned=True, or a length of time")
        return given
    if isinstance(given, bool) or not isinstance(given, (str, int, timedelta, Duration)):
        rule = f"{name} is 'each', a period, or Every(period, aligned=True)"
        raise SpecError(f"{name}={given!r}", rule, "give one of these")
    length = Duration.of(given, name)
    if length.us <= 0:
        raise SpecError(f"{name}={given!r}", "a period is above zero", "give a longer one, or 'each'")
    return Every(length, aligned=True) if name == "early" else AfterFirst(length.us)


def deadline(policy: UpdatePolicy | None, since: int) -> int:
    """Returns the processing time from which on a policy lets a window emit.

    Args:
        policy: the policy; None: never.
        since: when the first message that has not been emitted was added.

    >>> deadline(Every(10, aligned=True), 20), deadline(AfterFirst(10), 25)
    (30, 35)
    """
    match policy:
        case None:
            return NEVER
        case Always():
            return since
        case AfterFirst():
            return since + policy.delay
    return last_boundary(policy, since) + policy.period.us
