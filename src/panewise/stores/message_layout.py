"""S1's matrix: which fields the key of a message consists of."""

from typing import Literal, TypeAlias, get_args

from panewise.choices import is_choice
from panewise.errors import SpecError

KeyField: TypeAlias = Literal["equal_fields", "timestamp", "offset"]
KeyLayout: TypeAlias = tuple[KeyField, ...]
Measure: TypeAlias = Literal["tuple", "time"]
Use: TypeAlias = Literal["aggregate", "join"]
WindowScale: TypeAlias = Literal["small", "large"]

LAYOUTS: tuple[KeyLayout, ...] = (
    ("offset",),
    ("equal_fields", "offset"),
    ("timestamp", "offset"),
    ("equal_fields", "timestamp", "offset"),
    ("timestamp", "equal_fields", "offset"),
)


def message_key_layout(
    measure: Measure,
    use: Use,
    *,
    equal_join: bool = False,
    time_range_join: bool = False,
    window_size: WindowScale | None = None,
) -> KeyLayout:
    """Returns the fields of the keys of messages, for the windows and the operator that read them.

    Args:
        measure: whether windows are of messages (`"tuple"`) or of time.
        use: whether an aggregate or a join reads the messages.
        equal_join: whether the condition of the join has equal fields.
        time_range_join: whether the condition of the join has a range of time; for windows of time.
        window_size: whether a window has few messages (`"small"`) or so many that a join should not read all
            of them (`"large"`). A join with equal fields needs it, except one of windows of time without a
            range of time.

    >>> message_key_layout("time", "aggregate")
    ('timestamp', 'offset')
    >>> message_key_layout("time", "join", equal_join=True, time_range_join=True, window_size="small")
    ('timestamp', 'equal_fields', 'offset')

    Raises:
        SpecError: if a value is none of these, an aggregate has conditions of a join, windows of messages
            have a range of time, or the size is needed and missing.

    Source: S1, "the following matrix to determine the message_key" (semantics 25).
    """
    _check_values(measure, use, window_size)
    if use == "aggregate" and (equal_join or time_range_join):
        fault = f"use='aggregate', equal_join={equal_join}, time_range_join={time_range_join}"
        raise SpecError(fault, "only a join has conditions", "leave them out, or set use='join'")
    if measure == "tuple" and time_range_join:
        rule = "windows of messages have no ranges of time"
        raise SpecError("measure='tuple', time_range_join=True", rule, "leave it out, or set measure='time'")
    default: KeyLayout = ("offset",) if measure == "tuple" else ("timestamp", "offset")
    if not equal_join:
        return default
    if measure == "time" and not time_range_join:
        return ("equal_fields", "timestamp", "offset")
    if window_size is None:
        rule = "a join with equal fields needs the size of its windows"
        raise SpecError("window_size=None", rule, "give 'small' or 'large'")
    if window_size == "large":
        return ("equal_fields", *default)
    return default if measure == "tuple" else ("timestamp", "equal_fields", "offset")


def _check_values(measure: Measure, use: Use, window_size: WindowScale | None) -> None:
    for name, value, known in (
        ("measure", measure, get_args(Measure)),
        ("use", use, get_args(Use)),
        ("window_size", window_size, (*get_args(WindowScale), None)),
    ):
        if not is_choice(value, known):
            listed = " or ".join(map(repr, known))
            rule = f"{name} is one of the values {listed}"
            raise SpecError(f"{name}={value!r}", rule, f"give {known[0]!r} or {known[1]!r}")
