"""Checks of what joins and cogroups have in common: keys, watermarks and lateness of two sides."""

from typing import Any

from panewise.errors import SpecError
from panewise.spec.operators.join.entry import TwoSided
from panewise.spec.watermarks import FixedLag, StreamTime


def check_keys(spec: TwoSided) -> None:
    """Refuses sides with different numbers of keys (semantics 28).

    Raises:
        SpecError: for such sides.
    """
    left, right = (side.keys for side in spec.sides.values())
    if len(left) != len(right):
        rule = "both sides have as many keys, which are compared in their order"
        raise SpecError(f"keys {list(left)} and {list(right)}", rule, "name a right key for each left key")


def check_watermarks(spec: TwoSided) -> None:
    """Refuses watermarks of which one has no effect (semantics 36.2, 36.5).

    Raises:
        SpecError: for such watermarks, and for another watermark of both sides than `StreamTime(per="all")`.
    """
    given: Any = spec.watermark
    own = [name for name, side in spec.sides.items() if side.watermark is not None]
    if given is not None:
        if not isinstance(given, StreamTime) or given.per != "all":
            rule = "the watermark of both sides is StreamTime(per='all')"
            raise SpecError(f"watermark={given!r}", rule, "give it, or a watermark of each side")
        if own:
            rule = "the sides have one watermark, or each its own"
            raise SpecError(f"watermark={given!r}, and one of the {own[0]}", rule, "leave one of them out")
    if spec.idle_after is None:
        return
    lagging = [name for name, side in spec.sides.items() if isinstance(side.watermark, FixedLag)]
    if given is not None or lagging:
        rule = "idle_after is for sides whose watermarks come from outside or from their own rows"
        raise SpecError(f"idle_after={spec.idle_after}", rule, "leave idle_after out")


def check_lateness_of_windows(spec: TwoSided, where: str) -> None:
    """Refuses an allowed lateness of a side if windows have one. `where` is what takes it.

    Raises:
        SpecError: for such a side.
    """
    for name, side in spec.sides.items():
        if side.allowed_lateness.us:
            rule = "windows are made from the rows of both sides, so they have one allowed lateness"
            given = f"allowed_lateness={side.allowed_lateness} on the {name}"
            raise SpecError(given, rule, f"give it to {where}, and leave it out here")
