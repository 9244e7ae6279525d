"""Which operators have current results that a store can contain, and in which store (semantics 31.16)."""

from panewise.chrono import Duration
from panewise.engine.protocol import Schema, Schemas
from panewise.errors import InputError, SpecError
from panewise.families import INPUT
from panewise.spec import Specification, parts
from panewise.spec.families.current_results import NEEDS_WINDOWS
from panewise.spec.family_parts import ResultWindows
from panewise.standalone.store_entries import KEY_TYPES, has_bytes
from panewise.stores import SessionStore, WindowStore


def check_materializable(
    spec: Specification, schemas: Schemas, results: Schema, store: WindowStore | SessionStore
) -> ResultWindows:
    """Returns the windows whose current results a store will have, after checking that it can have them.

    Args:
        spec: the specification.
        schemas: the columns of each input.
        results: the columns of the panes.
        store: the store.

    Raises:
        SpecError: if the operator has no windows with results, or these have no place in a store.
        InputError: if the store is of another kind, or has settings that do not fit the windows.
    """
    windows = _windows_of(spec)
    _check_types(windows, schemas[INPUT], results)
    _check_kind(windows, store)
    if windows.live_us is None:
        rule = "a result stays for the retention of the store, and with this lateness windows stay live"
        fault = "materialize with allowed_lateness='unlimited'"
        raise InputError(fault, rule, "give a duration as the allowed lateness")
    if isinstance(store, WindowStore):
        _check_store_of_windows(windows, store)
    if store.retention < windows.live_us:
        length = "gap" if windows.merge else "size"
        rule = f"a window is live for {Duration(windows.live_us)}: its {length} and the allowed lateness"
        fault = f"materialize={type(store).__name__}(retention={Duration(store.retention)})"
        raise InputError(fault, rule, "give a longer retention")
    return windows


def _windows_of(spec: Specification) -> ResultWindows:
    windows = parts(spec).result_windows(spec)
    if windows is None:
        raise SpecError(f"materialize with {type(spec).__name__}", NEEDS_WINDOWS, "leave materialize out")
    if isinstance(windows, tuple):
        fault, rule, remedy = windows
        raise SpecError(f"materialize with {fault}", rule, remedy)
    return windows


def _check_types(windows: ResultWindows, schema: Schema, results: Schema) -> None:
    for name in windows.keys:
        if schema[name] not in KEY_TYPES:
            rule = "the key of a store has whole numbers, texts, Booleans or bytes"
            raise SpecError(f"materialize with key {name!r} of {schema[name]}", rule, "use another key")
    for name in windows.aggregates:
        if has_bytes(results[name]):
            rule = "a result in a store has values that JSON knows, and JSON does not know bytes"
            raise SpecError(f"materialize with {name!r} of {results[name]}", rule, "leave it out")


def _check_kind(windows: ResultWindows, store: object) -> None:
    wanted = SessionStore if windows.merge else WindowStore
    if not isinstance(store, wanted):
        rule = "results of Session windows are in a SessionStore, those of other windows in a WindowStore"
        fault = f"materialize={type(store).__name__} with {windows.kind} windows"
        raise InputError(fault, rule, f"give a {wanted.__name__}")


def _check_store_of_windows(windows: ResultWindows, store: WindowStore) -> None:
    if store.duplicates:
        rule = "a window has one current result, which each put replaces"
        raise InputError("materialize=WindowStore(duplicates=True)", rule, "leave duplicates out")
    if windows.size is not None and store.window_size != windows.size:
        rule = f"the windows of this operator have a size of {Duration(windows.size)}"
        fault = f"materialize=WindowStore(window_size={Duration(store.window_size)})"
        raise InputError(fault, rule, "give this size")
