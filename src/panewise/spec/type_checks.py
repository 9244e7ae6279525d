"""Checks that the columns of an input have types that a specification can use (semantics 24.19).

All runtimes use this one check, when a query is built. A column whose type is not known is not checked.
"""

from collections.abc import Callable, Iterable

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.column_types import BIGINT, BOOLEAN, Type, check_bytes
from panewise.spec.column_values import BITS, is_whole_of
from panewise.spec.family_parts import parts
from panewise.spec.operators.policy.policies import DeltaPolicy
from panewise.spec.protocol import Entry, Specification, Types
from panewise.spec.source_position import Position
from panewise.spec.triggers.composite import Trigger, walk
from panewise.spec.triggers.simple import OnDelta, OnPunctuation
from panewise.spec.watermarks import input_columns
from panewise.spec.windows.traits import gap_columns


def check_types(spec: Specification, types: Types) -> None:
    """Checks the types of all columns that a specification with one input reads.

    Args:
        spec: a specification.
        types: the types of the columns of the input that are known, by name.

    Raises:
        SpecError: if the specification cannot use a column of this type. The message names the column and its
            type.

    >>> from panewise import Tumbling, WindowOperator
    >>> from panewise import functions as F
    >>> spec = WindowOperator(window=Tumbling("1 hour"), aggregates=[F.sum("name")])
    >>> check_types(spec, {"name": Type("string")})
    Traceback (most recent call last):
    panewise.errors.SpecError: 'sum(name)' over name: string | sum takes numbers | cast name to a number, or
    use another aggregate [PW-AGG-037]
    """
    parts(spec).check_types(spec, {INPUT: types})


def check_row_order(spec: Entry, types: Types) -> None:
    """Checks the columns of an operator that emits rows: those of its input, and those that order rows."""
    check_entry(spec, types)
    rule, remedy = "rows are ordered by simple values", "use its fields, before the operator"
    check_kinds("order", spec.order, types, _is_simple, rule, remedy)
    check_bytes("order", spec.order, types)


def check_entry(spec: Entry, types: Types) -> None:
    """Checks keys, event time, gap, inputs and position."""
    check_kinds(
        "key", spec.keys, types, _is_simple, "a key is a simple value", "use its fields, or a text of it"
    )
    check_bytes("key", spec.keys, types)
    rule = "rows are ordered by values that have an order (semantics 3)"
    check_kinds("order", spec.order, types, _has_order, rule, "order by another column")
    check_bytes("order", spec.order, types)
    rule = "the event time is a timestamp with a time zone (semantics 1)"
    remedy = "cast it to TIMESTAMP in the right time zone"
    check_kinds("event time", spec.time_columns, types, _is_instant, rule, remedy)
    rule = "the gap of a row is whole microseconds or an interval of them (semantics 9.3)"
    remedy = "cast {name} to BIGINT microseconds, or to INTERVAL DAY TO SECOND"
    check_kinds("gap", gap_columns(spec.window), types, _is_gap, rule, remedy)
    inputs = input_columns(spec.watermark)
    check_bytes("input", inputs, types)
    rule = "the column that names the input of a row contains strings (semantics 12.9)"
    check_kinds("input", inputs, types, lambda kind: kind.kind == "string", rule, "cast {name} to STRING")
    if spec.position is not None:
        _check_position(spec.position, types)


def check_kinds(
    what: str, names: Iterable[str], types: Types, fits: Callable[[Type], bool], rule: str, remedy: str
) -> None:
    """Refuses columns whose types are known and do not fit. {name} in the remedy is the column."""
    for name in names:
        if name in types and not fits(types[name]):
            raise SpecError(f"{what} {name}: {types[name]}", rule, remedy.format(name=name))


def _is_simple(kind: Type) -> bool:
    return not kind.is_nested


def _has_order(kind: Type) -> bool:
    return kind.kind not in ("geometry", "geography")


def _is_instant(kind: Type) -> bool:
    return kind == BIGINT or kind.kind == "timestamp"


def _is_gap(kind: Type) -> bool:
    return kind.is_integer or kind.is_duration


def _is_stored_in_json(kind: Type) -> bool:
    return kind.is_integer or kind.kind in ("string", "boolean")


def _check_position(position: Position, types: Types) -> None:
    rule, remedy = "an offset is a whole number", "use the offset of the source, such as Kafka's"
    check_kinds("offset", [position.offset], types, lambda kind: kind.is_integer, rule, remedy)
    check_bytes("position", position.columns, types)
    rule = "the columns that name a source's partition are whole numbers or text, as they are stored in JSON"
    check_kinds("position", position.columns[:-1], types, _is_stored_in_json, rule, "cast {name} to STRING")


def check_triggers(trigger: Trigger, types: Types) -> None:
    """Checks the columns of punctuations and of deltas in a trigger."""
    for node in walk(trigger):
        if isinstance(node, OnPunctuation) and types.get(node.column, BOOLEAN) != BOOLEAN:
            rule = "OnPunctuation reads a Boolean column"
            remedy = "compute such a column before the operator"
            raise SpecError(f"{node!r}: {types[node.column]}", rule, remedy)
        if isinstance(node, OnDelta) and node.column in types:
            rule = "a delta is a difference of whole numbers, doubles or timestamps"
            check_distance(f"{node!r}", node.column, types[node.column], rule)
            check_whole(f"{node!r}", "amount", node.amount, types[node.column])


def check_distance(where: str, column: str, kind: Type, rule: str) -> None:
    """Checks that differences of the column's values are exact, or that the column contains doubles."""
    if not (kind.is_float or kind.is_integer or kind.is_timestamp):
        raise SpecError(f"{where}: {kind}", rule, f"cast {column}")


def check_whole(where: str, name: str, number: float, kind: Type) -> None:
    """Checks that the number is whole, unless the column contains doubles."""
    if not kind.is_float and number != int(number):
        rule = f"the {name} for whole numbers is a whole number"
        raise SpecError(f"{where}: {kind}", rule, "give one, or cast the column to DOUBLE")


def check_delta(policy: DeltaPolicy, kind: Type) -> None:
    """Checks that differences of the column can be compared with the amount (semantics 10.4)."""
    if not (kind.is_numeric or kind.is_timestamp):
        rule = "a delta is of whole numbers, doubles, decimals or timestamps (semantics 10.4)"
        raise SpecError(f"delta over {policy.column}: {kind}", rule, f"cast {policy.column} to one of these")
    if isinstance(policy.amount, Duration) and not (kind.is_timestamp or kind.is_integer):
        rule = (
            "a duration is an amount of timestamps, and of whole numbers, which are microseconds "
            "then (semantics 10.4)"
        )
        raise SpecError(
            f"delta({policy.column!r}, {policy.amount!r}) over {policy.column}: {kind}", rule, "give a number"
        )


def is_of_type(value: object, kind: Type) -> bool:
    """Returns whether a value of Python, given as a default, is of a type."""
    if isinstance(value, bool) or kind == BOOLEAN:
        return isinstance(value, bool) and kind == BOOLEAN
    if kind.is_integer:
        return is_whole_of(value, BITS[kind.kind])
    if kind.kind == "decimal":
        precision, scale = kind.digits
        return isinstance(value, int) and abs(value) < 10 ** (precision - scale)
    return (
        isinstance(value, (int, float)) if kind.is_float else isinstance(value, str) and kind.kind == "string"
    )
