"""Which operators have current results that a store can contain, and in which store (semantics 31.16)."""

from typing import Any, Final

from panewise.chrono import Duration, saturating_add
from panewise.engine.protocol import Schema, Schemas, engine_parts
from panewise.errors import InputError, SpecError
from panewise.families import INPUT
from panewise.spec import (
    Calendar,
    Hopping,
    Session,
    Sliding,
    Tumbling,
    WindowOperator,
    counted,
)
from panewise.spec.windows.kinds import LONGEST_DAYS
from panewise.standalone.store_entries import KEY_TYPES, has_bytes
from panewise.stores import SessionStore, WindowStore

_WINDOWS: Final = (Tumbling, Hopping, Sliding, Calendar, Session)
_DAY: Final = 86_400_000_000
_CLOCK_CHANGE: Final = 3_600_000_000  # a window with the end of summer time is longer by an hour
_RULE: Final = (
    "materialize needs a WindowOperator with Tumbling, Hopping, Sliding, Calendar or Session windows"
)


def check(spec: Any, schemas: Schemas, results: Schema, store: Any) -> None:
    """Checks that a store can have the current results of the windows of a specification.

    Args:
        spec: the specification.
        schemas: the columns of each input.
        results: the columns of the panes.
        store: the store.

    Raises:
        SpecError: if the operator has no windows with results, or these have no place in a store.
        InputError: if the store is of another kind, or has settings that do not fit the windows.
    """
    _check_windows(spec)
    _check_results(spec)
    _check_types(spec, schemas[INPUT], results)
    _check_kind(spec, store)
    _check_settings(spec, store)


def _check_windows(spec: Any) -> None:
    if engine_parts(spec).current_results is None:
        raise SpecError(f"materialize with {type(spec).__name__}", _RULE, "leave materialize out")
    kind = type(spec.window).__name__
    if counted(spec.window):
        rule = "windows of rows start at row numbers of each key, and a store has one time for all keys"
        raise SpecError(f"materialize with {kind} of rows", rule, "use windows of time")
    if not isinstance(spec.window, _WINDOWS):
        raise SpecError(f"materialize with {kind} windows", _RULE, "use one of these")


def _check_results(spec: WindowOperator) -> None:
    if spec.accumulation == "discarding":
        rule = "a current result is that of all rows of a window, and firings discard these"
        raise SpecError("materialize with accumulation='discarding'", rule, "use 'accumulating'")
    if spec.evictor is not None:
        rule = "a current result is that of all rows of a window, and an evictor removes some when it fires"
        raise SpecError(f"materialize with {spec.evictor!r}", rule, "leave one of them out")


def _check_types(spec: WindowOperator, schema: Schema, results: Schema) -> None:
    for name in spec.keys:
        if schema[name] not in KEY_TYPES:
            rule = "the key of a store has whole numbers, texts, Booleans or bytes"
            raise SpecError(f"materialize with key {name!r} of {schema[name]}", rule, "use another key")
    for aggregate in spec.aggregates:
        if has_bytes(results[aggregate.name]):
            rule = "a result in a store has values that JSON knows, and JSON does not know bytes"
            raise SpecError(
                f"materialize with {aggregate.name!r} of {results[aggregate.name]}", rule, "leave it out"
            )


def _check_kind(spec: WindowOperator, store: Any) -> None:
    wanted = SessionStore if isinstance(spec.window, Session) else WindowStore
    if not isinstance(store, wanted):
        rule = "results of Session windows are in a SessionStore, those of other windows in a WindowStore"
        fault = f"materialize={type(store).__name__} with {type(spec.window).__name__} windows"
        raise InputError(fault, rule, f"give a {wanted.__name__}")


def _check_settings(spec: WindowOperator, store: WindowStore | SessionStore) -> None:
    if spec.lateness_us is None:
        rule = "a result stays for the retention of the store, and with this lateness windows stay live"
        fault = "materialize with allowed_lateness='unlimited'"
        raise InputError(fault, rule, "give a duration as the allowed lateness")
    if isinstance(store, WindowStore):
        _check_store_of_windows(spec.window, store)
    live = saturating_add(_longest(spec.window), spec.lateness_us)
    if store.retention < live:
        length = "gap" if isinstance(spec.window, Session) else "size"
        rule = f"a window is live for {Duration(live)}: its {length} and the allowed lateness"
        fault = f"materialize={type(store).__name__}(retention={Duration(store.retention)})"
        raise InputError(fault, rule, "give a longer retention")


def _check_store_of_windows(window: Any, store: WindowStore) -> None:
    if store.duplicates:
        rule = "a window has one current result, which each put replaces"
        raise InputError("materialize=WindowStore(duplicates=True)", rule, "leave duplicates out")
    if not isinstance(window, Calendar) and store.window_size != window.size.us:
        rule = f"the windows of this operator have a size of {window.size}"
        fault = f"materialize=WindowStore(window_size={Duration(store.window_size)})"
        raise InputError(fault, rule, "give this size")


def _longest(window: Any) -> int:
    """Returns the size of the longest window, or the gap of sessions, in microseconds; 0 for gaps of rows."""
    match window:
        case Calendar():
            return saturating_add(window.n * LONGEST_DAYS[window.unit] * _DAY, _CLOCK_CHANGE)
        case Session():
            return window.gap.us if isinstance(window.gap, Duration) else 0
    size: int = window.size.us
    return size
