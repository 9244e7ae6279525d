"""Triggers that combine triggers (semantics 16.9, 16.10). Values only.

A trigger is a tree. Its inner nodes are `AfterWatermark`, `Repeatedly`, `AfterAny`, `AfterAll`, `AfterEach`
and `OrFinally`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias, assert_never

from panewise.errors import SpecError
from panewise.spec.triggers.simple import (
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    Always,
    Every,
    Leaf,
    Never,
    OnDelta,
    OnPunctuation,
)


@dataclass(frozen=True)
class AfterWatermark:
    """Fires when the watermark reaches the end of the window. `early` fires before that, `late` after it.

    Args:
        early: a trigger that is repeated until the watermark reaches the end. None is the same as Never.
        late: a trigger that is repeated after that, until the window expires. None: the trigger finishes when
            it fires at the end.

    Raises:
        SpecError: if `early` or `late` is not a trigger, or contains an AfterWatermark.

    >>> AfterWatermark(early=Every("1 minute"), late=Always())
    AfterWatermark(early=Every(period=Duration('1 minute')), late=Always())

    Source: semantics 16.4, 16.9; Beam AfterWatermark, S4 AtWatermark.
    """

    kind: ClassVar[str] = "after_watermark"
    early: "Trigger | None" = None
    late: "Trigger | None" = None

    def __post_init__(self) -> None:
        for name in ("early", "late"):
            part = getattr(self, name)
            if part is None:
                continue
            _check(part, name)
            if has_after_watermark(part):
                rule = (
                    f"{name} applies on one side of the end of a window, so it cannot wait for the end itself"
                )
                raise SpecError(f"{name}={part!r}", rule, f"leave AfterWatermark out of {name}")


@dataclass(frozen=True)
class Repeatedly:
    """Fires whenever `trigger` fires, and arms it again whenever it finishes. Never finishes.

    >>> Repeatedly(AfterCount(100))
    Repeatedly(trigger=AfterCount(n=100))

    Source: semantics 16.10; Beam Repeatedly, Flink CountTrigger (of AfterCount).
    """

    kind: ClassVar[str] = "repeatedly"
    trigger: "Trigger"

    def __post_init__(self) -> None:
        _check(self.trigger, "trigger")


@dataclass(frozen=True, init=False)
class _Several:
    triggers: "tuple[Trigger, ...]"

    def __init__(self, *triggers: "Trigger") -> None:
        if not triggers:
            name = type(self).__name__
            rule = f"{name} is made of one trigger or more"
            raise SpecError(f"{name}()", rule, f"give some: {name}(AfterCount(100), ...)")
        for number, part in enumerate(triggers):
            _check(part, f"triggers[{number}]")
        object.__setattr__(self, "triggers", triggers)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.triggers))})"


class AfterAny(_Several):
    """Fires when any of its triggers is ready. Finishes when any of them finishes.

    A firing clears the triggers that were not ready (semantics 16.11).

    >>> AfterAny(AfterCount(100), AfterProcessingTime("10 seconds"))
    AfterAny(AfterCount(n=100), AfterProcessingTime(delay=Duration('10 seconds'), align=None))

    Source: semantics 16.10; Beam AfterAny (AfterFirst), Samza Triggers.any.
    """

    kind: ClassVar[str] = "after_any"


class AfterAll(_Several):
    """Fires when all of its triggers that have not finished are ready. Finishes with the last of them.

    >>> AfterAll(AfterCount(100), AfterProcessingTime("10 seconds")).triggers[0]
    AfterCount(n=100)

    Source: semantics 16.10; Beam AfterAll.
    """

    kind: ClassVar[str] = "after_all"


class AfterEach(_Several):
    """Follows its triggers in order: each starts when the one before finishes. Finishes with the last.

    >>> AfterEach(AfterCount(1), Repeatedly(AfterCount(100))).triggers[0]
    AfterCount(n=1)

    Source: semantics 16.10; Beam AfterEach.
    """

    kind: ClassVar[str] = "after_each"


@dataclass(frozen=True)
class OrFinally:
    """Fires when `main` or `until` is ready. Finishes when `until` fires or `main` finishes.

    Args:
        main: the trigger that is followed.
        until: the trigger whose first firing finishes the whole. It must finish whenever it fires.

    Raises:
        SpecError: if one of them is not a trigger, or `until` can fire without finishing.

    >>> OrFinally(Repeatedly(AfterCount(100)), until=AfterWatermark()).until
    AfterWatermark(early=None, late=None)

    Source: semantics 16.10; Beam OrFinally.
    """

    kind: ClassVar[str] = "or_finally"
    main: "Trigger"
    until: "Trigger"

    def __post_init__(self) -> None:
        _check(self.main, "main")
        _check(self.until, "until")
        if not fires_once(self.until):
            rule = "until is a trigger that finishes whenever it fires"
            remedy = (
                "give AfterCount, AfterProcessingTime, AfterSilence, AfterEventTimeDelay, OnPunctuation, "
                "OnDelta, AfterWatermark(), or AfterAny or AfterAll of such"
            )
            raise SpecError(f"until={self.until!r}", rule, remedy)


# The leaves that a firing finishes (semantics 16.8, 16.16, 16.17).
_ONCE: Final = (
    AfterCount,
    AfterProcessingTime,
    AfterSilence,
    AfterEventTimeDelay,
    OnPunctuation,
    OnDelta,
)

Composite: TypeAlias = AfterWatermark | Repeatedly | AfterAny | AfterAll | AfterEach | OrFinally
Trigger: TypeAlias = Leaf | Composite
Finish: TypeAlias = Literal["never", "at_end", "any_time"]


def _check(value: Any, name: str) -> None:
    if not isinstance(value, Trigger):
        rule = f"{name} is one of panewise's triggers"
        raise SpecError(f"{name}={value!r}", rule, f"give one, such as {name}=Always()")


def parts_of_trigger(trigger: Trigger) -> tuple[Trigger, ...]:
    """Returns the triggers directly inside a trigger."""
    match trigger:
        case AfterWatermark():
            return tuple(part for part in (trigger.early, trigger.late) if part is not None)
        case Repeatedly():
            return (trigger.trigger,)
        case AfterAny() | AfterAll() | AfterEach():
            return trigger.triggers
        case OrFinally():
            return (trigger.main, trigger.until)
    return ()


def walk(trigger: Trigger) -> Iterator[Trigger]:
    """Yields the trigger and all triggers inside it, each before its parts."""
    yield trigger
    for part in parts_of_trigger(trigger):
        yield from walk(part)


def has_after_watermark(trigger: Trigger) -> bool:
    """Returns whether the trigger contains an AfterWatermark."""
    return any(isinstance(node, AfterWatermark) for node in walk(trigger))


def fires_early(trigger: Trigger) -> bool:
    """Returns whether the trigger can fire before the watermark reaches the end of the window.

    >>> fires_early(AfterWatermark(early=Always())), fires_early(AfterAll(AfterCount(3), AfterWatermark()))
    (True, False)
    """
    if isinstance(trigger, AfterWatermark):
        return trigger.early is not None and can_fire(trigger.early)
    return _fires_if(fires_early, trigger) if parts_of_trigger(trigger) else can_fire(trigger)


def _fires_if(test: Callable[[Trigger], bool], composite: Trigger) -> bool:
    """Returns whether a composite can fire, if those of its parts can that pass a test."""
    match composite:
        case AfterAll():
            return all(map(test, composite.triggers))
        case AfterEach():
            return test(composite.triggers[0])
    return any(map(test, parts_of_trigger(composite)))


def default_on_time(trigger: Trigger) -> Literal["if_pending", "always"]:
    """Returns the default of `on_time`: "always" if the trigger waits for the end and can fire before it.

    >>> default_on_time(AfterWatermark(early=Always())), default_on_time(AfterWatermark())
    ('always', 'if_pending')

    Source: semantics 21.4.
    """
    return "always" if has_after_watermark(trigger) and fires_early(trigger) else "if_pending"


def trigger_columns(trigger: Trigger) -> tuple[str, ...]:
    """Returns the input columns that the trigger reads."""
    return tuple(node.column for node in walk(trigger) if isinstance(node, (OnPunctuation, OnDelta)))


def fires_once(trigger: Trigger) -> bool:
    """Returns whether every firing of the trigger finishes it."""
    if isinstance(trigger, _ONCE):
        return True
    match trigger:
        case AfterWatermark():
            return trigger.early is None and trigger.late is None
        case AfterAny() | AfterAll():
            return all(map(fires_once, trigger.triggers))
    return False


def finish(trigger: Trigger) -> Finish:
    """Returns when a trigger can finish at the earliest: "any_time", "at_end" or "never".

    "at_end" means not before the watermark reaches the end of the window.
    """
    order: list[Finish] = ["any_time", "at_end", "never"]
    if isinstance(trigger, _ONCE):
        return "any_time"
    match trigger:
        case Every() | AfterEventTime() | Always() | Never() | Repeatedly():
            return "never"
        case AfterWatermark():
            return "at_end" if trigger.late is None else "never"
        case AfterAny():
            return min(map(finish, trigger.triggers), key=order.index)
        case AfterAll() | AfterEach():
            return max(map(finish, trigger.triggers), key=order.index)
        case OrFinally():
            return min(finish(trigger.main), finish(trigger.until), key=order.index)
    assert_never(trigger)


def can_fire(trigger: Trigger) -> bool:
    """Returns whether the trigger can ever fire. The firing at expiry (semantics 16.6) does not count."""
    if isinstance(trigger, AfterWatermark) or not parts_of_trigger(trigger):
        return not isinstance(trigger, Never)
    return _fires_if(can_fire, trigger)


def idle_part(trigger: Trigger) -> Trigger | None:
    """Returns a part of the trigger that can never fire, or None (semantics 16.13).

    Such a part is a composite that can never fire, or a part of AfterEach after one that never finishes.
    """
    for node in walk(trigger):
        if isinstance(node, (Repeatedly, AfterAny, AfterAll, AfterEach, OrFinally)) and not can_fire(node):
            return node
        if isinstance(node, AfterEach):
            for before, after in zip(node.triggers, node.triggers[1:], strict=False):
                if finish(before) == "never" or not can_fire(before):
                    return after
    return None


DEFAULT_TRIGGER = AfterWatermark(late=Always())
