"""Which changes of an input are taken over on stored state, of whatever family (semantics 47.2)."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

Check: TypeAlias = Callable[[Any, Any], str | None]  # of the old and the new specification
_DELAYS: Final = ("lag", "delay", "idle_after")  # the fields of watermarks that may change


def always(old: Any, new: Any) -> None:
    """Allows the change."""


def of_part(part: Callable[[Any], Any], check: Check) -> Check:
    """Returns a check of a part of both specifications, such as the window operator of a chain."""
    return lambda old, new: check(part(old), part(new))


def only_delays(old: Any, new: Any) -> str | None:
    """Refuses a change of anything but the delays of a watermark."""
    same = _without_delays(old.watermark) == _without_delays(new.watermark)
    return (
        None if same else "of a watermark only the lag, the delay and idle_after may change (semantics 47.2)"
    )


def _without_delays(watermark: Any) -> Any:
    if not is_dataclass(watermark):
        return None
    values = {field.name: getattr(watermark, field.name) for field in fields(watermark)}
    return type(watermark), {name: value for name, value in values.items() if name not in _DELAYS}


INPUT_CHANGES: Final[Mapping[str, Check]] = MappingProxyType(
    {"max_future_skew": always, "watermark": only_delays}
)


def of_side(name: str, more: tuple[str, ...] = ()) -> Check:
    """Returns the check of a change of a side.

    Only the fields of its input, and the fields `more`, may change.
    """
    allowed = (*more, *INPUT_CHANGES)

    def check(old: Any, new: Any) -> str | None:
        before, after = old.sides[name], new.sides[name]
        changed = [
            field.name
            for field in fields(before)
            if getattr(before, field.name) != getattr(after, field.name)
        ]
        others = [field for field in changed if field not in allowed]
        if others:
            names = f"{', '.join(allowed[:-1])} and {allowed[-1]}"
            return f"of a side {names} change, and not {others[0]} (semantics 47.2)"
        return only_delays(before, after) if "watermark" in changed else None

    return check


SIDE_CHANGES: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "left": of_side("left"),
        "right": of_side("right"),
        "idle_after": always,
        "watermark": only_delays,
    }
)
