"""User-defined aggregates, in oracle and engine: types of results, states that are JSON (semantics 24.20)."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
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
        caught.value.args[0]
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
        caught.value.args[0]
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
    assert caught.value.args[0] == (
        f"fold('f', initial={initial!r}) without result | {rule} | give result=, such as 'bigint' or 'double'"
    )


def test_a_type_that_no_result_can_have() -> None:
    with pytest.raises(
        SpecError,
        match=r"result='array<array<date>>' \| the result of .* is bigint, .* \| give one of these, "
        r"or such as",
    ):
        returning(1, "array<array<date>>")


PRICES = [
    {"price": Decimal("1.50"), "n": 2, "ok": True},
    {"price": None, "n": 4, "ok": True},
    {"price": Decimal("9.99"), "n": 1, "ok": None},
    {"price": Decimal("0.25"), "n": None, "ok": False},
]
TYPES = {"price": "decimal(10,2)", "n": "bigint", "ok": "boolean"}


def rows_of(result: str, finish: Callable[[Any], Any]) -> pw.UserAggregate:
    """Returns an aggregate of two columns whose state is the list of its rows, prices as texts."""
    return pw.UserAggregate(
        "rows_of",
        init=list,
        accumulate=lambda state, price, n: [*state, [None if price is None else str(price), n]],
        merge=lambda one, other: [*one, *other],
        finish=finish,
        result=result,
    )


def spent(rows: list[Any]) -> Decimal:
    return sum((Decimal(price) * (n or 0) for price, n in rows if price is not None), Decimal("0.00"))


COLUMNS: dict[str, tuple[str, Callable[[Any], Any], Any]] = {
    "decimal": ("decimal(20,2)", spent, Decimal("12.99")),
    "struct": (
        "struct<n:bigint,spent:decimal(20,2),unit:string>",
        lambda rows: {"n": len(rows), "spent": spent(rows)},
        {"n": 4, "spent": Decimal("12.99"), "unit": None},
    ),
    "map": (
        "map<string,bigint>",
        lambda rows: {str(price): n for price, n in rows},
        [{"key": key, "value": n} for key, n in (("1.50", 2), ("None", 4), ("9.99", 1), ("0.25", None))],
    ),
    "nested": (
        "array<struct<price:double,tags:map<bigint,array<boolean>>>>",
        lambda rows: [{"price": len(rows), "tags": {1: [True, None]}}, None],
        [{"price": 4.0, "tags": [{"key": 1, "value": [True, None]}]}, None],
    ),
    "null": ("struct<n:bigint>", lambda rows: None, None),
}


@pytest.mark.parametrize("runtime", [*RUNTIMES, "standalone"])
@pytest.mark.parametrize("name", COLUMNS)
def test_several_columns_and_results_of_every_type(name: str, runtime: str) -> None:
    """semantics 24.20, 24.30: `accumulate` takes a value of each column, nulls included."""
    result, finish, expected = COLUMNS[name]
    spec = pw.WindowOperator(
        window=pw.Hopping(20, 10), aggregates=[rows_of(result, finish)("price", "n").alias("a")]
    )
    rows = [{"event_time": n, **row} for n, row in enumerate(PRICES)]
    events: list[dict[str, Any]] = [{"op": "add", "rows": rows[:2]}, {"op": "restart"}]
    events += [{"op": "add", "rows": rows[2:]}, {"op": "finish"}]
    panes = run(spec, events, runtime, types=TYPES)[-1]["panes"]
    assert [pane["a"] for pane in panes] == [expected, expected]


@pytest.mark.parametrize("runtime", [*RUNTIMES, "standalone"])
@pytest.mark.parametrize(
    "window", [pw.Tumbling(10), pw.Session(5), pw.Sliding(9), pw.Global()], ids=lambda one: one.kind
)
def test_a_filter_decides_which_rows_are_accumulated(window: Any, runtime: str) -> None:
    """semantics 24.29: `accumulate` is not called with other rows, and a null passes as little as false."""
    total, each = rows_of("decimal(20,2)", spent), rows_of("bigint", len)
    aggregates = [total("price", "n").filter("ok").alias("a"), each("price", "n").filter("ok").alias("n")]
    spec = pw.WindowOperator(window=window, aggregates=aggregates)
    rows = [{"event_time": n, **row} for n, row in enumerate(PRICES)]
    events: list[dict[str, Any]] = [{"op": "add", "rows": rows[:1]}, {"op": "add", "rows": rows[1:]}]
    panes = run(spec, [*events, {"op": "finish"}], runtime, types=TYPES)[-1]["panes"]
    assert (panes[-1]["a"], panes[-1]["n"]) in [(Decimal("3.00"), 2), (Decimal("0.00"), 0)]
    assert (Decimal("3.00"), 2) in [(pane["a"], pane["n"]) for pane in panes]


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(
    ("result", "value"),
    [
        ("decimal(4,2)", Decimal("1.005")),
        ("decimal(4,2)", Decimal("100")),
        ("decimal(4,2)", 1),
        ("struct<a:bigint>", {"b": 1}),
        ("struct<a:bigint>", [1]),
        ("map<string,bigint>", {None: 1}),
        ("map<string,bigint>", {"a": "b"}),
        ("struct<a:array<bigint>>", {"a": (1,)}),
    ],
)
def test_a_nested_result_of_another_type_is_an_error(result: str, value: Any, runtime: str) -> None:
    """semantics 24.20: nothing is rounded, and no field is dropped."""
    with pytest.raises(InputError, match=r"^'mine': result .* \| .* is of its declared type"):
        result_of(returning(value, result)("v"), [{"v": 1}], runtime)


@pytest.mark.parametrize(
    "result", ["date", "timestamp", "decimal", "decimal(39,0)", "map<array<bigint>,bigint>", "array", None]
)
def test_types_that_a_result_cannot_have(result: Any) -> None:
    """semantics 24.20: the error says which types there are."""
    with pytest.raises(SpecError, match=r"^result=.* \| the result of a user-defined aggregate is bigint, "):
        returning(1, result)


def test_a_stage_reads_results_of_users() -> None:
    """semantics 24.16, 24.20: a decimal result has its declared type in a later stage."""
    total = rows_of("decimal(38,2)", spent)("price", "n").alias("total")
    first = pw.WindowOperator(window=pw.Tumbling(5), keys=["n"], aggregates=[total])
    chain = first.then(keys=[], aggregates=[F.sum("total").alias("sum"), F.max("total").alias("most")])
    rows = [{"event_time": n, **row} for n, row in enumerate(PRICES)]
    events: list[dict[str, Any]] = [{"op": "add", "rows": rows}, {"op": "finish"}]
    for runtime in RUNTIMES:
        [pane] = run(chain, events, runtime, types=TYPES)[-1]["panes"]
        assert (pane["sum"], pane["most"]) == (Decimal("12.99"), Decimal("9.99"))
