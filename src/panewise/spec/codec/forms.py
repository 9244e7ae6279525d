"""Where documents of specifications differ from the fields of their classes, in one table.

What is not in :data:`FORMS` is written and read by its fields (:mod:`panewise.spec.codec.by_fields`).
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, get_args

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import FUNCTIONS, Aggregate, default_name
from panewise.spec.aggregates.order_columns import OrderColumn, directed_names
from panewise.spec.aggregates.user_functions import UserFunctions
from panewise.spec.aggregates.user_merge import MergeAggregate, UserMergeAggregate
from panewise.spec.codec.by_fields import ANYTHING, Decoder, Encoder, Form, plain
from panewise.spec.codec.condition_forms import CONDITION_FORMS
from panewise.spec.codec.users import AnyListener
from panewise.spec.fields import Reader, duration, flag, list_reader, members_of, names, number, text, wrong
from panewise.spec.frames import Frame
from panewise.spec.operators.chain import Chain, Stage
from panewise.spec.operators.deduplicate import DeduplicateOperator
from panewise.spec.operators.join.columns import Selected
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.streams import SideWindow
from panewise.spec.operators.over.operator import OverColumn, OverOperator
from panewise.spec.operators.over.row_function import ROW_FUNCTIONS, RowFunction
from panewise.spec.operators.policy.listener import WindowListener
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.operators.policy.policies import DeltaPolicy
from panewise.spec.operators.windowed_join import WindowedJoin
from panewise.spec.operators.windows import UNLIMITED, WindowOperator
from panewise.spec.triggers.composite import AfterAll, AfterAny, AfterEach, Trigger
from panewise.spec.watermarks import Inputs, StreamTime
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import AnyWindow, Cumulating, names_a_column
from panewise.spec.windows.size_in_rows import Rows

THEN: Final = "then"  # the field of the stages of a chain, and of the windows over a join
_MICROSECONDS: Final = "a whole number of microseconds"
_SIZE: Final = f"{_MICROSECONDS}, or {{'rows': n}}"
_AMOUNT: Final = "a number, a decimal as a string, or a duration as {'us': N}"
_GAP: Final = f"{_SIZE}, or a column's name"
_USERS: Final = {  # what the user gives, and the argument of the reader that has it
    "aggregates": ("user-defined aggregates", "user_aggregates"),
    "merge_aggregates": ("user-defined aggregates of both sides that are", "user_aggregates"),
    "windows": ("user-defined windows", "user_windows"),
    "listeners": ("listeners", "user_listeners"),
}
_AGGREGATE_DEFAULTS: Final[dict[str, dict[str, Any]]] = {  # the defaults of panewise.functions
    "approx_count_distinct": {"rsd": 0.05},
    "sort_list": {"ascending": True},
    "top_n": {"ascending": False},
    "top_n_by": {"ascending": False},
}


# Values of one field


def _either(what: str, readers: Mapping[Any, Reader], word: str | None = None) -> Form:
    """Returns the form of a value that a reader of its type reads, or that is the word.

    `what` describes all these values in errors.
    """

    def read(value: Any, where: str) -> Any:
        if isinstance(value, str) and value == word:
            return value
        for kind, reader in readers.items():
            if isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
                return reader(value, where)
        raise wrong(where, value, what)

    return plain(read)


def _rows(value: Mapping[str, Any], where: str) -> Rows:
    if set(value) != {"rows"}:
        raise wrong(where, value, _SIZE)
    return Rows(value["rows"])


def _column_of_gaps(value: str, where: str) -> str:
    if not names_a_column(value):
        raise wrong(where, value, _GAP)
    return value


def _side_window(decoder: Decoder, value: Any, where: str) -> Any:
    if isinstance(value, Mapping) and "kind" in value:
        return decoder.one_of(get_args(AnyWindow), value, where)
    return decoder.read(Duration | Rows, value, where)


def _delays(value: Any, where: str) -> Any:
    return {name: duration(delay, f"{where}.{name}") for name, delay in value.items()}


def _write_inputs(encoder: Encoder, value: Inputs) -> dict[str, Any]:
    """Writes delays of inputs as a dict by name."""
    written = encoder.fields(value)
    if isinstance(value.delay, tuple):
        written["delay"] = {name: delay.us for name, delay in value.delay}
    return written


def _us(value: Any, where: str) -> Duration:
    return duration(members_of(value, where, {"us"}, required=("us",))["us"], f"{where}.us")


def _decimal(value: str, where: str) -> Decimal:
    try:
        return Decimal(value)
    except InvalidOperation:
        raise wrong(where, value, _AMOUNT) from None


def _write_delta(encoder: Encoder, value: DeltaPolicy) -> dict[str, Any]:
    written = encoder.fields(value)
    return written | {"amount": {"us": value.amount.us}} if isinstance(value.amount, Duration) else written


def _columns_of_sides(decoder: Decoder, value: Any, where: str) -> tuple[Any, ...] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)):
        raise wrong(where, value, "a list with a column or null for each side")
    return tuple(decoder.read(str | None, column, f"{where}[{n}]") for n, column in enumerate(value))


# What a user defines, which documents name


def _of_user(decoder: Decoder, kind: str, name: str, where: str) -> Any:
    """Returns what the user gives for a name, which is of a kind of :data:`panewise.spec.protocol.Users`."""
    users, (what, argument) = decoder.users[kind], _USERS[kind]
    if name not in users:
        rule = f"the {what} that are given are {sorted(users)}"
        raise SpecError(f"{where}={name!r}", rule, f"give {argument}={{{name!r}: ...}}")
    return users[name]


def _custom(decoder: Decoder, cls: Any, values: dict[str, Any], where: str) -> Custom:
    """Returns the window with the function that the user gives for its name."""
    window = Custom(len, **values)
    return replace(window, function=_of_user(decoder, "windows", window.name, f"{where}.name").function)


def _listener(decoder: Decoder, value: Any, where: str) -> WindowListener:
    any_listener = isinstance(decoder.users["listeners"], AnyListener)  # which has no outputs of its own
    needed = ("name", "outputs") if any_listener else ("name",)
    members = members_of(value, where, {"name", "outputs"}, needed)
    name = text(members["name"], f"{where}.name")
    if any_listener:
        return WindowListener(object, name=name, outputs=members["outputs"])
    listener: WindowListener = _of_user(decoder, "listeners", name, f"{where}.name")
    if dict(listener.outputs) != members.get("outputs", dict(listener.outputs)):
        rule = f"the outputs of the listener given as {name!r} are {dict(listener.outputs)}"
        raise SpecError(f"{where}.outputs={members['outputs']!r}", rule, "leave outputs out, or give these")
    return listener


# Aggregates and row functions: their names have defaults


def _aggregate(decoder: Decoder, cls: Any, values: dict[str, Any], where: str) -> Aggregate:
    fn, user = values["fn"], values.get("user")  # the name in the document, which is not that of the object
    if fn not in FUNCTIONS:
        rule = f"the functions of aggregates are {sorted(FUNCTIONS)}"
        raise SpecError(f"{where}.fn={fn!r}", rule, "give one of these")
    values = {**_AGGREGATE_DEFAULTS.get(fn, {}), **values}
    if user is not None:
        values["user"] = _of_user(decoder, "aggregates", user, f"{where}.user")
    ascending = fn == "min_by" or values.get("ascending") is True
    further = (*directed_names(values.get("then_by", ()), ascending=ascending), *values.get("more", ()))
    arguments = [values.get("by"), *further, values.get("n"), values.get("percentage")]
    return Aggregate(**_named(values, user or fn, values["column"], *arguments))


def _merge_aggregate(decoder: Decoder, cls: Any, values: dict[str, Any], where: str) -> MergeAggregate:
    user = values["user"]
    values = {**values, "user": _of_user(decoder, "merge_aggregates", user, f"{where}.user")}
    return MergeAggregate(**_named(values, user, values["left"], values["right"]))


def _row_function(decoder: Decoder, cls: Any, values: dict[str, Any], where: str) -> RowFunction:
    fn, column = values["fn"], values["column"]
    values = {"n": 1 if fn in ("lag", "lead") else None, **values}
    if column is None:
        return RowFunction(**{**values, "name": f"{fn}()" if values["name"] is None else values["name"]})
    arguments = [values["n"], values.get("default")]
    named = _named(values, fn, column, *arguments)
    if values["name"] is None and values.get("ignorenulls") is True:
        named["name"] += " ignore nulls"
    return RowFunction(**named)


def _named(values: dict[str, Any], *of: Any) -> dict[str, Any]:
    """Returns the values with the default of a name that is left out."""
    return {**values, "name": default_name(*of) if values["name"] is None else values["name"]}


def _over_column(decoder: Decoder, value: Any, where: str) -> OverColumn:
    if not isinstance(value, Mapping):
        raise wrong(where, value, "an object with named fields")
    function = {name: item for name, item in value.items() if name != "frame"}
    frame = decoder.read(Frame | None, value.get("frame"), f"{where}.frame")
    fn = function.get("fn", "count")  # that it is missing, is found when the aggregate is read
    if isinstance(fn, str) and fn in ROW_FUNCTIONS:
        return OverColumn(decoder.read(RowFunction, function, where), frame)
    if not isinstance(fn, str) or fn not in FUNCTIONS:
        known = f"the functions of aggregates are {sorted((*FUNCTIONS, *ROW_FUNCTIONS))}"
        raise SpecError(f"{where}.fn={fn!r}", known, "give one of these")
    return OverColumn(decoder.read(Aggregate, function, where), frame)


def _write_over(encoder: Encoder, value: OverOperator) -> dict[str, Any]:
    """Writes an OVER operator as earlier releases do, if its nulls are where they are by default."""
    written = encoder.fields(value, FORMS[OverOperator])
    if set(value.nulls_last) == set(value.descending) - {value.event_time}:
        del written["nulls_last"]
    return written


def _write_over_column(encoder: Encoder, value: OverColumn) -> dict[str, Any]:
    written: dict[str, Any] = encoder.write(value.what)
    return written if value.frame is None else {**written, "frame": encoder.write(value.frame)}


# Operators that are made of others: the fields of both are in one document


def _chain(decoder: Decoder, value: Any, where: str) -> Chain:
    first = decoder.read(WindowOperator, value, where)
    return Chain(first, decoder.read(tuple[Stage, ...], value[THEN], THEN))


def _windowed_join(decoder: Decoder, value: Any, where: str) -> WindowedJoin:
    then = value[THEN]
    if not isinstance(then, Mapping):
        raise wrong(THEN, then, "the windows over the join, as a dict")
    first = {name: item for name, item in value.items() if name != THEN}
    windows = Chain if has_stages(then) else WindowOperator
    return WindowedJoin(decoder.read(JoinOperator, first, where), decoder.read(windows, then, where))


def has_stages(document: Mapping[str, Any]) -> bool:
    """Returns whether a document of windows has stages. A window operator has none or an empty list."""
    return document.get(THEN, ()) not in ((), [])


_OLD_NULL_KEYS: Final = {"null_keys": False}  # the default of earlier releases (semantics 15.4)
_LENGTHS: Final[dict[Any, Reader]] = {int: duration, Mapping: _rows}
_AMOUNTS: Final[dict[Any, Reader]] = {(int, float): number, str: _decimal, Mapping: _us}
_NO_NAME: Final = {"column": None, "name": None}
_UNCHECKED: Final = {"column": ANYTHING, "default": ANYTHING}  # the constructor says what a function takes
FORMS: Final[Mapping[Any, Form]] = {
    Duration | Literal["unlimited"]: _either(f"{_MICROSECONDS}, or 'unlimited'", {int: duration}, UNLIMITED),
    bool | Literal["touching"]: _either("true, false or 'touching'", {bool: flag}, "touching"),
    bool | tuple[str, ...]: _either(
        "true, false or a list of column names", {bool: flag, (list, tuple): names}
    ),
    tuple[str | None, str | None]: Form(read=_columns_of_sides),
    Duration | Rows: _either(_SIZE, _LENGTHS),
    Duration | Rows | str: _either(_GAP, _LENGTHS | {str: _column_of_gaps}),
    SideWindow: Form(read=_side_window),
    Rows: Form(write=lambda encoder, value: {"rows": value.n}),
    Duration | tuple[tuple[str, Duration], ...]: _either(
        f"{_MICROSECONDS}, or an object with one for each input", {int: duration, Mapping: _delays}
    ),
    StreamTime: Form(newer=("idle_after",)),
    Inputs: Form(fields={"names": plain(list_reader("a list of inputs' names"))}, write=_write_inputs),
    DeltaPolicy: Form(fields={"amount": _either(_AMOUNT, _AMOUNTS)}, write=_write_delta),
    Trigger: Form(several="triggers"),
    **dict.fromkeys(
        (AfterAny, AfterAll, AfterEach),
        Form(make=lambda decoder, cls, values, where: cls(*values.get("triggers", ()))),
    ),
    **dict.fromkeys((UserFunctions, UserMergeAggregate), Form(write=lambda encoder, value: value.name)),
    Custom: Form(hidden=("function",), make=_custom),
    WindowListener: Form(
        read=_listener, write=lambda encoder, value: {"name": value.name, "outputs": dict(value.outputs)}
    ),
    Aggregate: Form(
        several="aggregates", sparse=True, left_out=_NO_NAME, fields={"user": str | None}, make=_aggregate
    ),
    OrderColumn: Form(several="order columns"),
    MergeAggregate: Form(
        several="aggregates",
        left_out={"name": None},
        newer=("added",),
        fields={"user": str},
        make=_merge_aggregate,
    ),
    RowFunction: Form(sparse=True, left_out=_NO_NAME, fields=_UNCHECKED, make=_row_function),
    OverColumn: Form(several="columns", read=_over_column, write=_write_over_column),
    Frame: Form(left_out={"start": None}, newer=("exclude",)),
    Selected: Form(several="columns", fields={"name": str | None}),
    # The constructor refuses rows.
    Cumulating: Form(fields=dict.fromkeys(("size", "step"), Duration | Rows)),
    Stage: Form(
        several="stages",
        write=lambda encoder, value: {
            "keys": list(value.keys),
            "aggregates": encoder.write(value.aggregates),
        },
    ),
    WindowOperator: Form(left_out=_OLD_NULL_KEYS, also=("panewise", THEN), newer=("max_windows",)),
    OverOperator: Form(left_out=_OLD_NULL_KEYS, newer=("descending",), write=_write_over),
    DeduplicateOperator: Form(fields={"emit": str | None}),
    StreamWindow: Form(left_out=_OLD_NULL_KEYS, names={"kind": "stream_window"}, fields={"null_keys": bool}),
    Chain: Form(
        read=_chain,
        write=lambda encoder, value: encoder.write(value.first) | {THEN: encoder.write(value.stages)},
    ),
    WindowedJoin: Form(
        read=_windowed_join,
        write=lambda encoder, value: encoder.write(value.join) | {THEN: encoder.write(value.windows)},
    ),
    **CONDITION_FORMS,
}
