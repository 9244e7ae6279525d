"""The interpreter of joins (semantics 27, 28, 36 to 41).

It stores every applied row and never removes one, whatever the match is. So the partners of a row are found
by looking through all rows of the other side.
"""

from typing import Any

from panewise.families import part
from panewise.matches import MATCHES
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.two_sides import SideTypes, TwoSidedInterpreter
from panewise.oracle.outputs import Output
from panewise.spec.operators.join.operator import JoinOperator


class JoinInterpreter(TwoSidedInterpreter):
    """Interprets one join; each method takes one event and returns the output after it.

    The emitted rows take the place of panes. Late and invalid rows name their `side`, and counts are by side.
    The types of columns say which columns a side has.

    >>> from panewise.spec.operators.join.interval import Interval
    >>> from panewise.spec.operators.join.side import Side
    >>> join = JoinOperator(left=Side(event_time="t"), right=Side(event_time="u"), match=Interval(-2, 5))
    >>> oracle = JoinInterpreter(join, {"left": {"t": "bigint"}, "right": {"u": "bigint"}})
    >>> _ = oracle.add([{"t": 10}], "left")
    >>> oracle.add([{"u": 7}, {"u": 8}], "right")["panes"]
    [{'t': 10, 'u': 8, 'op': '+', 'missing': None, 'join_time': 10}]

    Source: semantics 27, 28, 36 to 41.
    """

    def __init__(self, spec: JoinOperator, types: SideTypes | None = None) -> None:
        super().__init__(spec, types)
        self._emitted = EmittedRows(spec, self._types)
        self._method = part(MATCHES[spec.match.kind].oracle)(spec, self._clocks, self._emitted)

    def change(self, spec: Any) -> Output:
        """Continues with other fields (semantics 47.15, 47.16, 47.19)."""
        self._emitted.change(spec, self._arrived)
        self._method.change(spec)
        return super().change(spec)

    def _evaluate_change(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._method.evaluate()
        return rows

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows; None if there is none (semantics 40.4)."""
        watermark: int | None = self._method.output_watermark()
        return watermark
