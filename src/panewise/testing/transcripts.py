"""Transcripts: YAML documents of events and their expected outputs, which can be checked in any runtime.

A document has these fields:

- `name`: its name, unique in its file.
- `cites`: the sentences of docs/semantics.md that it shows.
- `spec`: the specification in its dict form (that of a chain has `then`).
- `types`: types of columns, if they are not to be inferred.
- `events`: the events, as :func:`panewise.testing.run` takes them.

An event may have two more fields:

- `expect`: its output, with the lists `panes`, `late` and `invalid`, and `counts`. A list that is not given
  is empty, so an event without `expect` emits no rows. A field or count that is not given may have any value.
  For a join `panes` are the emitted rows. For a join and a cogroup `counts` are by input.
- `state`: the [start, end] of each window that is stored after the event, closed windows included, in the
  order of end, start and keys. For a join these are the stored rows, as [t, t + 1].
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from panewise.errors import InputError
from panewise.extras import from_extra
from panewise.spec import Custom, UserAggregate, WindowListener
from panewise.spec.codec import from_dict
from panewise.testing.compare import assert_entries
from panewise.testing.runner import run

with from_extra("testing", "transcripts are YAML"):
    import yaml

_NEEDED = {"name", "cites", "spec", "events"}
_ALLOWED = _NEEDED | {"types"}
_LISTS = ("panes", "late", "invalid")

Document = Mapping[str, Any]


def load(path: str | Path) -> list[dict[str, Any]]:
    """Reads the documents of a YAML file.

    Raises:
        InputError: if a document lacks a field or has an unknown one, or if two have the same name.
    """
    documents = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(documents, list):
        raise InputError(
            f"{path}: {type(documents).__name__}",
            "a file of transcripts is a list of documents",
            "start each document with '- name:'",
        )
    for document in documents:
        _check_fields(document, str(path))
    names = [document["name"] for document in documents]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{path}: {name!r} twice", "transcripts of a file have different names", "rename one"
            )
    return documents


def _check_fields(document: Any, path: str) -> None:
    fields = set(document) if isinstance(document, Mapping) else set()
    if not _NEEDED <= fields <= _ALLOWED:
        rule = f"a transcript has {sorted(_NEEDED)}, and may have {sorted(_ALLOWED - _NEEDED)}"
        raise InputError(f"{path}: a document with {sorted(fields, key=str)}", rule, "give these fields")
    for event in document["events"]:
        unknown = set(event.get("expect") or {}) - {*_LISTS, "counts"}
        if unknown:
            rule = f"what can be expected is {[*_LISTS, 'counts']}"
            raise InputError(f"{path}: {document['name']}: expect.{sorted(unknown)[0]}", rule, "leave it out")


def check(
    document: Document,
    runtime: str = "oracle",
    user_aggregates: Mapping[str, UserAggregate] | None = None,
    user_windows: Mapping[str, Custom] | None = None,
    user_listeners: Mapping[str, WindowListener] | None = None,
    **options: Any,
) -> None:
    """Plays a transcript and checks the output and the stored windows after each event.

    Args:
        document: the transcript.
        runtime: "oracle", "engine" or "spark".
        user_aggregates: the user-defined aggregates that the specification names.
        user_windows: the `Custom` windows that it names.
        user_listeners: the listeners that it names.
        options: settings of the runtime.

    Raises:
        AssertionError: if an output or the stored windows differ; it names the event.
        InputError, SpecError: if the document is malformed.

    >>> check({
    ...     "name": "one pane", "cites": ["16.4"],
    ...     "spec": {"window": {"kind": "tumbling", "size": 10},
    ...     "aggregates": [{"fn": "count", "name": "n"}]},
    ...     "events": [{"op": "add", "rows": [{"event_time": 1}], "expect": {}, "state": [[0, 10]]},
    ...                {"op": "watermark", "to": 10, "expect": {"panes": [{"n": 1, "timing": "ON_TIME"}]},
    ...     "state": []}],
    ... })
    """
    events = [
        {name: value for name, value in event.items() if name not in ("expect", "state")}
        for event in document["events"]
    ]
    spec = from_dict(document["spec"], user_aggregates, user_windows, user_listeners)
    outputs = run(spec, events, runtime, types=document.get("types"), windows=True, **options)
    for number, (event, output) in enumerate(zip(document["events"], outputs, strict=True)):
        where = f"{document['name']}: events[{number}] ({event['op']})"
        _check_output(event.get("expect") or {}, output, where)
        if "state" in event:
            wanted = [{"window": bounds} for bounds in event["state"]]
            stored = [
                {"window": [window["window_start"], window["window_end"]]} for window in output["windows"]
            ]
            assert_entries(stored, wanted, f"{where}: live windows")


def _check_output(expect: Mapping[str, Any], output: Mapping[str, Any], where: str) -> None:
    for name in _LISTS:
        assert_entries(output[name], expect.get(name) or [], f"{where}: {name}")
    counts = expect.get("counts") or {}
    assert_entries([_named(output["counts"], counts)], [counts], f"{where}: counts")


def _named(counts: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the counts that are expected; those of an operator with several inputs are by input."""
    return {
        name: _named(counts.get(name, {}), value) if isinstance(value, Mapping) else counts.get(name, 0)
        for name, value in expected.items()
    }
