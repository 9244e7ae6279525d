"""User-defined aggregates, in oracle and engine: types of results, states that are JSON (semantics 24.20)."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import panewise as pw
from panewise.errors import InputError, SpecError
from panewise.testing import result_of, run

RUNTIMES = ("oracle", "engine")


def returning(value: Any, result: str) -> pw.UserAggregate:
    """Returns an aggregate whose result is the given value."""
    return pw.UserAggregate("mine", lambda: 0, lambda s, v: s, lambda a, b: a, lambda s: value, result)


def with_state(state: Any) -> pw.UserAggregate:
    """Returns an aggregate whose state is the given value after its first row."""
    return pw.UserAggregate("mine", lambda: None, lambda s, v: state, lambda a, b: b, lambda s: 1.0)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(
    ("result", "value"),
    [
        ("bigint", "12"),
        ("bigint", 1.0),
        ("bigint", True),
        ("bigint", 2**63),
        ("double", "1.5"),
        ("double", False),
        ("double", 10**400),
        ("string", 5),
        ("boolean", 1),
        ("array<bigint>", 1),
        ("array<bigint>", [1, "x"]),
        ("array<string>", ("a",)),
        ("array<double>", "abc"),
    ],
)
def test_a_result_of_another_type_is_an_error(result: str, value: Any, runtime: str) -> None:
    """The error names the aggregate, the type and the value (semantics 24.20)."""
    with pytest.raises(InputError) as caught:
        result_of(returning(value, result)("v"), [{"v": 1}], runtime)
    rule = (
        f"the result of a user-defined aggregate is of its declared type, {result}, or None (semantics 24.20)"
    )
    assert (
        str(caught.value)
        == f"'mine': result {value!r} | {rule} | give such a value in finish, or declare another result"
    )


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(
    ("result", "value", "held"),
    [
        ("bigint", -(2**63), -(2**63)),
        ("bigint", None, None),
        ("double", 3, 3.0),
        ("double", math.inf, math.inf),
        ("string", "", ""),
        ("boolean", False, False),
        ("array<bigint>", [], []),
        ("array<bigint>", [1, None], [1, None]),
        ("array<double>", [1, 2.5], [1.0, 2.5]),
        ("array<string>", ["a"], ["a"]),
    ],
)
def test_a_result_has_its_declared_type(result: str, value: Any, held: Any, runtime: str) -> None:
    """Where a double is declared, a whole number becomes a double (semantics 24.20)."""
    found = result_of(returning(value, result)("v"), [{"v": 1}], runtime)
    assert (found, type(found)) == (held, type(held))
    assert not isinstance(held, list) or list(map(type, found)) == list(map(type, held))


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("state", [{1}, (1, 2), [(1,)], {1: "a"}, {"a": b"x"}, object], ids=repr)
def test_a_state_that_is_no_json_is_an_error(state: Any, runtime: str) -> None:
    """So are tuples and keys that are not strings, which JSON would change (semantics 24.7, 24.20)."""
    with pytest.raises(InputError) as caught:
        result_of(with_state(state)("v"), [{"v": 1}], runtime)
    rule = "the state of a user-defined aggregate is a JSON value (semantics 24.7)"
    assert (
        str(caught.value)
        == f"'mine': state {state!r} | {rule} | use None, numbers, strings, lists and dicts with string keys"
    )


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_state_of_no_rows_is_json_too(runtime: str) -> None:
    wrong = pw.UserAggregate("mine", set, lambda s, v: 1, lambda a, b: b, lambda s: 1.0)
    with pytest.raises(
        InputError, match=r"'mine': state set\(\) \| the state of a user-defined aggregate is a JSON value"
    ):
        result_of(wrong("v"), [{"v": 1}], runtime)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_values_and_states_are_combined_in_arrival_order(runtime: str) -> None:
    """Nulls are accumulated too; states of sessions are merged in the order of 24.4 (semantics 24.7)."""
    trail = pw.UserAggregate(
        "trail",
        init=list,
        accumulate=lambda state, value: [*state, value],
        merge=lambda one, other: [*one, *other],
        finish=lambda state: ",".join(map(str, state)),
        result="string",
    )
    spec = pw.WindowOperator(window=pw.Session(10), event_time="t", aggregates=[trail("v").alias("a")])
    batches = [
        [{"t": 16, "v": "c"}, {"t": 0, "v": "a"}, {"t": 2, "v": None}, {"t": 19, "v": "b"}],
        [{"t": 8, "v": "x"}],
    ]
    events = [*({"op": "add", "rows": rows} for rows in batches), {"op": "finish"}]
    assert run(spec, events, runtime)[-1]["panes"][0]["a"] == "a,None,c,b,x"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_lists_travel_through_batches_and_retractions(runtime: str) -> None:
    """Lists are merged over batches, retracted, and compared with the live pane by value (semantics 21.1)."""
    kept = pw.UserAggregate.fold(
        "kept", [], lambda s, v: sorted({*s, v}), lambda a, b: sorted({*a, *b}), result="array<bigint>"
    )
    fields: dict[str, Any] = {"trigger": pw.Always(), "accumulation": "retracting"}
    spec = pw.WindowOperator(window=pw.Tumbling(10), aggregates=[kept("v").alias("a")], **fields)
    events = [{"op": "add", "rows": [{"event_time": 1, "v": v}]} for v in (2, 1, 2)]
    panes = [[(pane["op"], pane["a"]) for pane in output["panes"]] for output in run(spec, events, runtime)]
    assert panes == [[("+", [2])], [("-", [2]), ("+", [1, 2])], []]


@pytest.mark.parametrize(("initial", "result"), [("", "string"), (0.0, "double"), (False, "boolean")])
def test_a_fold_has_the_type_of_its_initial_state(initial: Any, result: str) -> None:
    """Without `result`, the type of `initial` is the type of the result (semantics 24.14)."""
    assert pw.UserAggregate.fold("f", initial, lambda s, v: s, combine=lambda a, b: a).result == result


@pytest.mark.parametrize("initial", [0, None, [], {}])
def test_a_fold_declares_its_type_unless_the_initial_state_has_one(initial: Any) -> None:
    fold: Callable[..., pw.UserAggregate] = pw.UserAggregate.fold
    with pytest.raises(SpecError) as caught:
        fold("f", initial, lambda s, v: s, combine=lambda a, b: a)
    rule = "initial does not determine the type of the result"
    assert str(caught.value) == (
        f"fold('f', initial={initial!r}) without result | {rule} | give result=, such as 'bigint' or 'double'"
    )


def test_a_type_that_no_result_can_have() -> None:
    with pytest.raises(
        SpecError,
        match=r"result='array<array<bigint>>' \| the result of .* is bigint, .* \| give one of these, "
        r"or such as",
    ):
        returning(1, "array<array<bigint>>")
