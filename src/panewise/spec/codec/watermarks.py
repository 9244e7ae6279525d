"""Converts the `watermark` of a specification to plain values and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from panewise.chrono import Duration
from panewise.spec.fields import Reader, duration, kind_of, listed, members_of, or_null, text, typed
from panewise.spec.watermarks import FixedLag, Inputs, StreamTime, Watermark


def plain_watermark(watermark: Watermark) -> dict[str, Any]:
    """Returns the watermark as a dict of plain values. Durations are microseconds.

    >>> plain_watermark(Inputs(["a", "b"], column="source", delay={"a": 0, "b": 5}))
    {'kind': 'inputs', 'names': ['a', 'b'], 'idle_after': None, 'column': 'source', 'delay': {'a': 0, 'b': 5}}
    """
    return {
        "kind": watermark.kind,
        **{field.name: _plain(getattr(watermark, field.name), field.name) for field in fields(watermark)},
    }


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, tuple):
        return {key: delay.us for key, delay in value} if name == "delay" else list(value)
    return value.us if isinstance(value, Duration) else value


def watermark_from(*kinds: type[Watermark]) -> Reader:
    """Returns a reader of watermarks of these kinds.

    >>> watermark_from(FixedLag)({"kind": "fixed_lag", "lag": 5}, "watermark")
    FixedLag(lag=Duration('5 microseconds'))
    """
    known = {kind.kind: kind for kind in kinds}

    def read(value: Any, where: str) -> Watermark:
        kind = kind_of(value, where, known)
        parts = _PARTS[kind]
        members = members_of(value, where, {"kind", *parts}, required=_REQUIRED.get(kind, ()))
        return known[kind](
            **{
                name: reader(members[name], f"{where}.{name}")
                for name, reader in parts.items()
                if name in members
            }
        )

    return read


def _delay(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return {name: duration(delay, f"{where}.{name}") for name, delay in value.items()}
    return Duration(
        typed(int, "a whole number of microseconds, or an object with one for each input")(value, where)
    )


_OF_INPUTS: dict[str, Reader] = {
    "names": listed("a list of inputs' names"),
    "idle_after": or_null(duration),
    "column": or_null(text),
    "delay": or_null(_delay),
}
_PARTS: dict[str, dict[str, Reader]] = {
    FixedLag.kind: {"lag": duration},
    StreamTime.kind: {"delay": duration, "per": text},
    Inputs.kind: _OF_INPUTS,
}
_REQUIRED: dict[str, tuple[str, ...]] = {FixedLag.kind: ("lag",), Inputs.kind: ("names",)}
