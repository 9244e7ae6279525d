"""Windows that a user's function returns, called for one row at a time (semantics 6.6, 9.4)."""

from collections.abc import Mapping
from typing import Any

from panewise.errors import SpecError
from panewise.oracle.columns import is_integer
from panewise.spec.windows.custom import Custom, EachRow


def given_windows(window: Custom, t: int, values: Mapping[str, Any]) -> Any:
    """Returns what the function returns for a row, not validated.

    Raises:
        SpecError: for a function of DataFrames; the oracle calls functions of one row only.
    """
    if not isinstance(window.function, EachRow):
        rule = "the oracle calls window functions for one row at a time"
        remedy = "make it with Custom.each, or use another runtime"
        raise SpecError(f"Custom {window.name!r} of DataFrames", rule, remedy)
    return window.function.function({"event_time": t, **{name: values[name] for name in window.columns}})


def no_windows_reason(window: Custom, windows: Any) -> str | None:
    """Returns the reason why a row with this result of the function is invalid; None if it is valid."""
    if not isinstance(windows, (list, tuple)) or not all(_is_window(pair) for pair in windows):
        return f"{window.name} gave a bad window"
    if window.merge and len(windows) > 1:
        return f"{window.name} gave several windows"
    return None if windows else "gap"


def _is_window(pair: Any) -> bool:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        return False
    start, end = pair
    return is_integer(start) and is_integer(end) and start < end
