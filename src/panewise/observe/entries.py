"""The entries of a journal: a query has started, a micro-batch has ended, a query has ended."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from panewise.observe.activity import as_json, from_json
from panewise.observe.micro_batch import BatchFigures, MicroBatch

_LONGEST_ERROR = 500
_FIGURES = ("counts", "timings", "late", "invalid", "state")


@dataclass(frozen=True)
class Started:
    """A run of a query has started.

    Attributes:
        query: the name of the query, else its id.
        run: the id of the run.
        at: when, in microseconds since 1970.
    """

    query: str
    run: str
    at: int


@dataclass(frozen=True)
class Ended:
    """A run of a query has ended.

    Attributes:
        query: the name of the query, else its id.
        run: the id of the run.
        at: when, in microseconds since 1970.
        error: the first line of the error, None if there was none.
    """

    query: str
    run: str
    at: int
    error: str | None = None


Entry: TypeAlias = Started | MicroBatch | Ended


def to_document(entry: Entry) -> dict[str, Any]:
    r"""Returns an entry as JSON values.

    >>> to_document(Ended("orders", "7f", 5, "out of memory\n at line 1"))
    {'kind': 'ended', 'query': 'orders', 'run': '7f', 'at': 5, 'error': 'out of memory'}
    """
    match entry:
        case Started():
            return {"kind": "started", **asdict(entry)}
        case Ended():
            error = None if entry.error is None else entry.error.split("\n", 1)[0][:_LONGEST_ERROR]
            return {"kind": "ended", **asdict(replace(entry, error=error))}
        case MicroBatch():
            shown = {name: value for name, value in vars(entry).items() if name != "operators"}
            operators = {name: _figures_document(figures) for name, figures in entry.operators.items()}
            return {"kind": "batch", **shown, "operators": operators}


def _figures_document(figures: BatchFigures) -> dict[str, Any]:
    """Returns figures without those that are 0 or missing."""
    document: dict[str, Any] = {
        name: {key: value for key, value in getattr(figures, name).items() if value} for name in _FIGURES
    }
    if figures.activity is not None:
        document["activity"] = as_json(figures.activity)
    return {name: value for name, value in document.items() if value}


def from_document(document: Mapping[str, Any]) -> Entry | None:
    """Returns the entry that a document describes; None if it is of a kind that a later release has added.

    Raises:
        KeyError, TypeError, ValueError: if it does not describe one.
    """
    values = {name: value for name, value in document.items() if name != "kind"}
    match document["kind"]:
        case "started":
            return Started(**values)
        case "ended":
            return Ended(**values)
        case "batch":
            operators = {name: _figures(value) for name, value in values.pop("operators").items()}
            return MicroBatch(**values, operators=operators)
    return None


def _figures(document: Mapping[str, Any]) -> BatchFigures:
    activity = document.get("activity")
    return BatchFigures(
        **{name: document.get(name, {}) for name in _FIGURES},
        activity=None if activity is None else from_json(activity),
    )


def without_activity(entry: Entry) -> Entry:
    """Returns an entry without the activity of its operators."""
    if not isinstance(entry, MicroBatch):
        return entry
    bare = {name: replace(figures, activity=None) for name, figures in entry.operators.items()}
    return replace(entry, operators=bare)
