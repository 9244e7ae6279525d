"""How a script is cut into other batches, and how what two scripts emit is compared."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from panewise.oracle.join.two_sides import invalid_row_reason, rows_of_both_sides
from panewise.oracle.rows import arrival_order, read_row
from panewise.spec.operators.join.side_entry import TwoSided
from panewise.testing.compare import same
from panewise.testing.join_events import join_types

Events = list[dict[str, Any]]

COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")
BY_ORDER = {"order": ["order"], "position": None}  # the arrival order of scripts that are `numbered`


def numbered(script: Events) -> Events:
    """Returns the script with adjacent batches merged into one, and its rows numbered in the column `order`.

    With that order column, arrival order does not depend on where batches are cut.
    """
    merged: Events = []
    number = 0
    for event in script:
        if event["op"] != "add":
            merged.append(event)
            continue
        rows = [{**row, "order": number + place} for place, row in enumerate(event["rows"])]
        number += len(rows)
        if merged and merged[-1]["op"] == "add":
            merged[-1] = {"op": "add", "rows": merged[-1]["rows"] + rows}
        else:
            merged.append({"op": "add", "rows": rows})
    return merged


def cut(script: Events, lengths: Sequence[int]) -> Events:
    """Returns the script with each batch cut into pieces of these lengths, which are repeated as needed."""
    pieces: Events = []
    for event in script:
        rows = event.get("rows", [])
        turn = 0
        while rows:
            length = lengths[turn % len(lengths)]
            pieces.append({"op": "add", "rows": rows[:length]})
            rows, turn = rows[length:], turn + 1
        if event["op"] != "add":
            pieces.append(event)
    return pieces


def by_side(event: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    rows = event["rows"]
    return rows if isinstance(rows, dict) else {event["input"]: rows}


def rows_of_sides(spec: TwoSided, script: Events) -> Iterator[dict[str, Any]]:
    """Yields the events with a batch for each row, in the arrival order of its batch."""
    types, now = join_types(spec), 0
    for event in script:
        now = max(now, event["to"]) if event["op"] == "clock" else now
        if event["op"] != "add":
            yield event
            continue
        valid: dict[str, Any] = {}
        for side, rows in by_side(event).items():
            entry, valid[side] = spec.ports[side], []
            for row in arrival_order(entry, types[side], rows):
                if invalid_row_reason(entry, types[side], row, now) is None:
                    valid[side].append(read_row(entry, types[side], row, now))
                else:
                    yield {"op": "add", "input": side, "rows": [row]}
        for side, one in rows_of_both_sides(spec, types, valid):
            yield {"op": "add", "input": side, "rows": [one.added]}


def together(outputs: Events) -> dict[str, Any]:
    """Returns all emitted rows in order, the sums of the counts, and the windows stored at the end.

    Late and invalid rows are in order of inputs: a batch has those of one input after those of the other.
    """
    lists = {
        part: [entry for output in outputs for entry in output[part]] for part in ("panes", "late", "invalid")
    }
    for part in ("late", "invalid"):
        lists[part].sort(key=lambda entry: str(entry.get("input")))
    counts: Counter[Any] = Counter()
    for output in outputs:
        of = output["counts"]
        for side, line in of.items() if "rows_in" not in of else [(None, of)]:
            counts.update({(side, name): line[name] for name in COUNTS if name in line})
    return {**lists, "counts": dict(+counts), "windows": outputs[-1]["windows"] if outputs else []}


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for part, value in one.items():
        assert same(value, other[part]), f"{part}\n{value}\n{other[part]}"


def net(panes: Events) -> Counter[str]:
    """Returns the rows that have been emitted and not retracted. Every retraction equals an emitted row."""
    rows: Counter[str] = Counter()
    for pane in panes:
        row = repr(sorted((name, value) for name, value in pane.items() if name != "op"))
        rows[row] += 1 if pane["op"] == "+" else -1
        assert min(rows.values()) >= 0
    return +rows
