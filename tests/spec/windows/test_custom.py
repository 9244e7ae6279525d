"""Windows that a function of the user assigns: every rule."""

import pytest

from panewise import Custom
from tests.spec.cases import Rule, check

COLUMNS = (
    "the columns of a window function have different names; the event time is always passed, as event_time"
)

RULES = {
    "a window function is one": Rule(
        lambda: Custom(len, name="f"),
        lambda: Custom("len", name="f"),  # type: ignore[arg-type]
        ("function='len' | a custom window is given by a function | give a function of a polars.DataFrame"),
    ),
    "a window function of rows is one": Rule(
        lambda: Custom.each(len, name="f"),
        lambda: Custom.each(None, name="f"),  # type: ignore[arg-type]
        "function=None | a custom window is given by a function | give a function of a dict",
    ),
    "a window function has a name": Rule(
        lambda: Custom(len, name="f"),
        lambda: Custom(len, name=""),
        "name='' | a custom window has a name | give a non-empty string",
    ),
    "a window function's columns are several": Rule(
        lambda: Custom(len, name="f", columns=["c"]),
        lambda: Custom(len, name="f", columns="c"),
        f"columns='c' | {COLUMNS} | give a list: columns=[...]",
    ),
    "a window function's columns differ": Rule(
        lambda: Custom(len, name="f", columns=["c", "d"]),
        lambda: Custom(len, name="f", columns=["c", "c"]),
        f"columns=['c', 'c'] | {COLUMNS} | give other columns' names, each once",
    ),
    "a window function has the event time anyway": Rule(
        lambda: Custom(len, name="f", columns=["t"]),
        lambda: Custom(len, name="f", columns=["event_time"]),
        f"columns=['event_time'] | {COLUMNS} | give other columns' names, each once",
    ),
    "a function's windows are merged or not": Rule(
        lambda: Custom(len, name="f", merge="touching"),
        lambda: Custom(len, name="f", merge=1),  # type: ignore[arg-type]
        (
            "merge=1 | windows are not merged, merged if they overlap, or also merged if they "
            "touch | give False, True or 'touching'"
        ),
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])
