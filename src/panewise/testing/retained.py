"""Plays events in retained windows: a windowed aggregator, or a join window operator."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from panewise.errors import InputError
from panewise.spec import Aggregate
from panewise.testing.columns import infer

if TYPE_CHECKING:
    from panewise.standalone import AggregatorSettings

_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "add": frozenset({"rows"}),
    "clock": frozenset({"to"}),
    **dict.fromkeys(("flush", "restart", "checkpoint", "reset"), frozenset[str]()),
}


def run_retained(
    settings: "AggregatorSettings",
    events: Iterable[Mapping[str, Any]],
    aggregates: Iterable[Aggregate] = (),
    *,
    types: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Plays events in retained windows; returns the output after each event.

    The operator has its windows and messages in a directory that is deleted afterwards. The events are dicts:

    - `{"op": "add", "rows": [...]}`: messages arrive, one by one. A row is a dict, which may carry an
      `"offset"`. Without it the offset is one after that of the message before.
    - `{"op": "clock", "to": t}`: the processing time moves.
    - `{"op": "flush"}`: what happened so far becomes durable.
    - `{"op": "restart"}`: the operator stops, and continues from its last flush.
    - `{"op": "checkpoint"}` and `{"op": "reset"}`: the state is saved, and the operator returns to it.

    Args:
        settings: `AggregatorSettings`, or `JoinWindowSettings` for a join window operator.
        events: the events.
        aggregates: those of a windowed aggregator.
        types: types of columns, as for :func:`panewise.testing.run`. Default: inferred from their values.

    Returns:
        For each event a dict of `outputs` (`start`, `session_key`, `firing`, `sequence`, and `value` or
        `messages`, each message with its `offset`), `kinds` (what became of each message), `rejected`
        (`row`, `offset`, `reason`), and `counts` since the beginning.

    Raises:
        InputError: if an event is malformed.
        SpecError: if a column or an aggregate does not fit the settings.

    >>> from panewise import functions as F
    >>> from panewise.standalone import AggregatorSettings
    >>> settings = AggregatorSettings(
    ...     measure="time", size=10, advance=10, retention_size=100, retention_time=100
    ... )
    >>> rows = [{"event_time": 1, "v": 2}, {"event_time": 12, "v": 3}]
    >>> [output] = run_retained(settings, [{"op": "add", "rows": rows}], [F.sum("v").alias("total")])
    >>> output["outputs"]
    [{'start': 0, 'session_key': None, 'firing': 'full', 'sequence': 1, 'value': {'total': 2}}]

    Source: S1; semantics 26 to 26.14.
    """
    played = [_checked(event, f"events[{number}]") for number, event in enumerate(events)]
    runtime = import_module("panewise.testing.runtimes.retained")  # needs libraries that `run` may not need
    rows = [runtime.values(row) for event in played for row in event.get("rows", ())]
    needed = [settings.time, *([settings.session_key] if settings.session_key else [])]
    columns = infer(rows, types or {}, needed, [settings.time])
    with TemporaryDirectory(prefix="panewise-") as directory:
        player = runtime.Player(settings, tuple(aggregates), columns, Path(directory))
        try:
            return [player.after(event) for event in played]
        finally:
            player.operator.close()


def _checked(event: Any, where: str) -> Mapping[str, Any]:
    """Returns an event, after checking its fields."""
    op = str(event.get("op")) if isinstance(event, Mapping) else ""
    if op not in _FIELDS or event.keys() != _FIELDS[op] | {"op"}:
        forms = ", ".join(str({"op": name, **dict.fromkeys(sorted(of), ...)}) for name, of in _FIELDS.items())
        raise InputError(f"{where}={event!r}", f"an event is one of {forms}", "give one of these")
    rows = event.get("rows", ())
    if isinstance(rows, (str, Mapping)) or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(f"{where}.rows={rows!r}", "rows are a list of dicts", "give a dict for each row")
    return {**event, **({"rows": list(rows)} if op == "add" else {})}
