"""Retractions take back rows that were emitted: a check of all outputs of all operators (semantics 20.5).

Neither the oracle nor the engine knows this check, so it also finds what both get wrong in the same way.

Invariant: before each row, `self.rows` has how often each emitted row is not retracted, and no count is
negative.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

OP: Final = "op"
_OWN: Final = (OP, "processing_time")  # what a retraction does not repeat


class Ledger:
    """The rows that have been emitted and not retracted.

    >>> ledger = Ledger()
    >>> ledger.take([{"v": 1, "op": "+"}, {"v": 2, "op": "+"}, {"v": 1, "op": "-"}])
    >>> ledger.remaining()
    [{'v': 2}]
    """

    def __init__(self) -> None:
        self.counts: Counter[Any] = Counter()
        self._rows: dict[Any, dict[str, Any]] = {}

    def take(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Adds and retracts rows, in their order."""
        for row in rows:
            repeated = {name: value for name, value in row.items() if name not in _OWN}
            key = hashable(repeated)
            if row[OP] == "+":
                self.counts[key] += 1
                self._rows[key] = repeated
            elif self.counts[key]:
                self.counts[key] -= 1
            else:
                raise AssertionError("\n".join(self._problem(repeated)))

    def remaining(self) -> list[dict[str, Any]]:
        """Returns the rows that have not been retracted, without `op` and `processing_time`."""
        return [self._rows[key] for key in self.counts.elements()]

    def _problem(self, retracted: dict[str, Any]) -> list[str]:
        """Returns the lines of an error: the retraction, and the rows that differ from it the least."""
        rest = self.remaining()
        near = sorted(
            rest, key=lambda row: sum(hashable(row[n]) != hashable(v) for n, v in retracted.items())
        )
        return [
            "a retraction repeats no row that was emitted and is not retracted (semantics 20.5)",
            f"- {retracted}",
            *(f"+ {row}" for row in near[:3]),
        ]


def check_retractions(outputs: Iterable[Mapping[str, Any]]) -> None:
    """Checks that each retraction equals an emitted row in every column but `op` and `processing_time`.

    >>> check_retractions([{"panes": [{"v": 1, "op": "+"}]}, {"panes": [{"v": 1, "op": "-"}]}])
    """
    panes = [pane for output in outputs for pane in output["panes"]]
    if any(pane.get(OP, "+") != "+" for pane in panes):
        Ledger().take(panes)


def hashable(value: Any) -> Any:
    """Returns a hashable value that is the same for equal values. NaN equals NaN, 1 is not True."""
    if isinstance(value, Mapping):
        return tuple((name, hashable(item)) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(hashable, value))
    if isinstance(value, float) and math.isnan(value):
        return (float, None)
    return (type(value) is bool, value)
