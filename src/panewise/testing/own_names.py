"""Plays events whose columns have names that begin with `__` (:mod:`panewise.spec.reserved_names`)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from panewise.spec.reserved_names import emitted_names, inner_names, renamed
from panewise.testing.events import Script


def names_inside(script: Script) -> dict[str, str]:
    """Returns the names that begin with `__`, with those that the operator has in their place."""
    return inner_names([name for names in _columns(script).values() for name in names], script.spec)


def _columns(script: Script) -> dict[str, list[str]]:
    """Returns the columns of the rows of each input, and those whose types are given."""
    columns = {port: dict.fromkeys(types) for port, types in script.types.items()}
    for event in script.events:
        for port, rows in event.rows.items():
            columns.setdefault(port, {}).update(dict.fromkeys(name for row in rows for name in row))
    return {port: list(names) for port, names in columns.items()}


def inside(script: Script, inner: Mapping[str, str]) -> Script:
    """Returns the script with the operator's names. The rows that outputs show stay as they were given."""
    events = (
        replace(
            event,
            rows={port: tuple(_named(row, inner) for row in rows) for port, rows in event.rows.items()},
            partition=_named(event.partition, inner),
        )
        for event in script.events
    )
    types = {port: _named(of, inner) for port, of in script.types.items()}
    return replace(script, spec=renamed(script.spec, inner), types=types, events=tuple(events))


def names_of_emitted(script: Script, inner: Mapping[str, str]) -> dict[str, str]:
    """Returns the names of emitted columns inside the operator, with those of the caller."""
    restored = {own: name for name, own in inner.items()}
    columns = {port: [inner.get(name, name) for name in names] for port, names in _columns(script).items()}
    return restored | emitted_names(renamed(script.spec, inner), columns, restored)


def outside(
    output: Mapping[str, Any], inner: Mapping[str, str], emitted: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the output after an event, with the names of the caller."""
    names = {own: name for name, own in inner.items()}
    result = {**output, "panes": [_pane(pane, emitted) for pane in output["panes"]]}
    for kind in ("late", "invalid"):
        result[kind] = [{**row, "reason": _reason(row["reason"], names)} for row in output[kind]]
    if "progress" in output:
        windows = [_window(window, names) for window in output["progress"]["windows"]]
        result["progress"] = {**output["progress"], "windows": windows}
    if "windows" in output:
        result["windows"] = [_named(window, names) for window in output["windows"]]
    return result


def _pane(pane: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Returns a pane with other names, also in the rows of `delta` and `tuples`."""
    result = _named(pane, names)
    for name in ("delta", "tuples"):
        if isinstance(result.get(name), list):
            result[name] = [_named(row, names) if isinstance(row, Mapping) else row for row in result[name]]
    return result


def _window(window: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Returns a window of the progress with other names, also in its rows."""
    rows = window["rows"]
    named = (
        {side: [_named(row, names) for row in of_side] for side, of_side in rows.items()}
        if isinstance(rows, Mapping)
        else [_named(row, names) for row in rows]
    )
    return _named(window, names) | {"rows": named}


def _named(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in row.items()}


def _reason(reason: str, names: Mapping[str, str]) -> str:
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    return pattern.sub(lambda match: names[match[1]], reason)
