"""Windows that a user's function gives, asked for one row at a time (semantics 6.6, 9.4)."""

from collections.abc import Mapping
from typing import Any

from panewise.errors import SpecError
from panewise.oracle.columns import is_integer
from panewise.spec.custom import Custom, EachRow


def given_windows(window: Custom, t: int, values: Mapping[str, Any]) -> Any:
    """What the function gives for a row.

    Raises:
        SpecError: for a function of frames, which this part of the house has not.
    """
    if not isinstance(window.function, EachRow):
        rule = "the oracle asks row by row"
        raise SpecError(f"Custom {window.name!r} of frames", rule, "use panewise.testing.run, or make it with Custom.each")
    return window.function.function({"event_time": t, **{name: values[name] for name in window.columns}})


def no_windows_reason(window: Custom, given: Any) -> str | None:
    """What is wrong with what the function gave for a row."""
    if not isinstance(given, (list, tuple)) or not all(_is_window(pair) for pair in given):
        return f"{window.name} gave a bad window"
    if window.merge and len(given) > 1:
        return f"{window.name} gave several windows"
    return None if given else "gap"


def _is_window(pair: Any) -> bool:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        return False
    start, end = pair
    return is_integer(start) and is_integer(end) and start < end
