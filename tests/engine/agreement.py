"""How the tests of all families compare the engine with the oracle."""

from typing import Any

from panewise.spec import Chain, Specification, StreamWindow, WindowOperator
from panewise.testing import run
from panewise.testing.compare import same
from tests.drawn import types_for
from tests.engine.orders import columns

Output = dict[str, Any]
Events = list[dict[str, Any]]


def agree(spec: Specification, script: Events, types: Any = None, **options: Any) -> None:
    """Asserts that engine and oracle have the same output and live windows after every event.

    Where no values of input rows are emitted as they were given, values have the same types, too. `types` are
    by default those of the columns of the samples.
    """
    types = types_for(spec) if types is None else types
    engine = run(spec, script, "engine", types=types, windows=True, **options)
    oracle = run(spec, script, "oracle", types=types, windows=True)
    exact = isinstance(spec, WindowOperator | Chain | StreamWindow)
    for number, (event, left, right) in enumerate(zip(script, engine, oracle, strict=True)):
        for name in ("counts", "invalid", "late", "panes", "windows"):
            text = (
                f"{name} after events[{number}], {event}\nengine {left[name]}\noracle {right[name]}\n{spec}"
            )
            assert same(left[name], right[name]), text
            assert not exact or shape(left[name]) == shape(right[name]), text
            assert not exact or zeros(spec, left[name]) == zeros(spec, right[name]), text
        assert columns(left) == columns(right)
        assert_all_counted(event.get("rows", ()), left["counts"])


def assert_all_counted(rows: Any, counts: Output) -> None:
    """Asserts that each row of an event is counted once (semantics 15.1), of several inputs by input."""
    if any(isinstance(one, dict) for one in counts.values()):
        for name, of_input in counts.items():
            assert_all_counted(rows[name] if isinstance(rows, dict) else rows, of_input)
    elif counts:
        assert counts["rows_in"] == len(rows)
        assert counts["rows_in"] == counts["applied"] + counts["replays"] + counts["late"] + counts["invalid"]


def shape(value: Any) -> Any:
    """Returns the type of a value, and those of its elements. So 1 and 1.0 differ."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


def zeros(spec: Specification, part: Any) -> list[str]:
    """Returns the floats in keys and tuples as text, in which -0.0 and 0.0 differ (semantics 15.2, 30.1)."""
    rows = part if isinstance(part, list) else []
    keys = [row.get(name) for row in rows for name in spec.keys]
    tuples = [value for row in rows for one in row.get("tuples") or () for value in one.values()]
    return [repr(value) for value in (*keys, *tuples) if isinstance(value, float)]
