"""Frames over a whole input, which has a last row: an end without a bound is one that no row is behind."""

from typing import Any, Final

from sqlglot import exp

from panewise.errors import SqlError
from panewise.spec import Frame
from panewise.sql.expressions.function_calls import constant, function_name, inner_call, is_interval
from panewise.sql.over.frames import ROW_FUNCTIONS, FrameReader, OverKey

ROWS: Final = 2**31 - 1  # more rows than a partition has
LENGTH: Final = 2**61  # more than two places are apart
_WORDS: Final = ("CURRENT ROW", "UNBOUNDED", None)


class WholeFrameReader(FrameReader):
    """Reads the frames of functions over windows of a whole input."""

    def frame(self, window: exp.Window, described: exp.Expr, key: OverKey) -> Frame | None:
        """Returns the frame of a call, None if the function has none.

        Raises:
            SqlError: for a frame that Spark does not have either.
        """
        function, spec = function_name(inner_call(window.this)), described.args.get("spec")
        if spec is None or (function in ROW_FUNCTIONS and function != "nth_value"):
            of_rows = None if spec is None else super().frame(window, described, key)
            assert of_rows is None, "such a function has no frame"
            return None if function in ROW_FUNCTIONS and function != "nth_value" else Frame("range", None, 0)
        kind = "rows" if str(spec.args["kind"]).lower() == "rows" else "range"
        last = ROWS if kind == "rows" else LENGTH
        start = self._bound(window, spec, "start", kind)
        end = 0 if spec.args.get("end") is None else self._bound(window, spec, "end", kind)
        if kind == "range" and start is None and (end or 0) < 0:
            start = -LENGTH  # no place is farther away
        excluded = spec.args.get("exclude")
        exclude: Any = "no others" if excluded is None else " ".join(str(excluded.name).lower().split())
        return Frame("rows" if kind == "rows" else "range", start, last if end is None else end, exclude)

    def unit(self, window: exp.Window, described: exp.Expr) -> str | None:
        """Returns what a RANGE counts: "number" or "time"; None if the frame has no length.

        Raises:
            SqlError: for a length that is no whole number and no interval.
        """
        spec = described.args.get("spec")
        if spec is None or str(spec.args["kind"]).lower() != "range":
            return None
        lengths = [spec.args.get(bound) for bound in ("start", "end")]
        lengths = [length for length in lengths if length not in _WORDS]
        if not lengths:
            return None
        if all(isinstance(length, exp.Expr) and is_interval(length) for length in lengths):
            return "time"
        if all(_whole_number(length) for length in lengths):
            return "number"
        raise self._no_length(window)

    def _length(self, window: exp.Window, value: exp.Expr, kind: str) -> int:
        known = constant(value)
        if kind == "range" and known is not None and _whole_number(value):
            return int(known[0])
        return super()._length(window, value, kind)

    def _no_length(self, window: exp.Window) -> SqlError:
        rule = "the length of a RANGE is a whole number or an interval in process"
        return self._refusal(window, "RANGE", rule, "write RANGE BETWEEN 2 PRECEDING AND CURRENT ROW")


def _whole_number(value: Any) -> bool:
    known = constant(value) if isinstance(value, exp.Expr) else None
    return known is not None and type(known[0]) is int and known[0] >= 0
