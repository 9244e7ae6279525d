"""Frames of functions over windows, and the order and partition that they belong to."""

from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.spec import Frame
from panewise.sql.expressions.function_calls import constant, function_name, inner_call, is_arrival
from panewise.sql.parsing.parser import QueryParser

ROW_FUNCTIONS: Final = ("row_number", "rank", "dense_rank", "lag", "lead", "nth_value")
_WHOLE: Final = "the rows behind the present one have not arrived yet, and a stream has no last row"
_BACKWARDS: Final = (
    "in descending order of the event time the rows before a row arrive after it, without an end"
)
_UNLIMITED: Final = (
    "ranks in descending order have an upper limit of 1 or more, as a stream has no last row",
    "select ROW_NUMBER() <= 3 or the like, in QUALIFY or in a query around it, or leave DESC out",
)


@dataclass(frozen=True)
class OverKey:
    """The PARTITION BY and ORDER BY of windows that one operator computes.

    Attributes:
        partition: the columns of PARTITION BY.
        order: the columns of ORDER BY.
        descending: those with DESC.
        nulls_last: those whose nulls come last.
    """

    partition: tuple[str, ...]
    order: tuple[str, ...]
    descending: tuple[str, ...]
    nulls_last: tuple[str, ...]

    @property
    def backwards(self) -> bool:
        """Whether the event time is descending."""
        return self.order[:1] != () and self.order[0] in self.descending


class FrameReader:
    """Reads the frames of functions over windows.

    Args:
        parser: the parser, for errors.
    """

    def __init__(self, parser: QueryParser) -> None:
        self.parser = parser

    def frame(self, window: exp.Window, described: exp.Expr, key: OverKey) -> Frame | None:
        """Returns the frame of a call, None if the function has none.

        Raises:
            SqlError: for a frame that a stream cannot have.
        """
        function, spec = function_name(inner_call(window.this)), described.args.get("spec")
        if function in ROW_FUNCTIONS and function != "nth_value":
            if spec is not None:
                rule = f"{function} reads all rows of its partition, so it has no frame"
                raise self._refusal(window, f"{function} with a frame", rule, "leave the frame out")
            if key.backwards and function not in ("lag", "lead"):
                raise self._refusal(window, f"{function} with ORDER BY {key.order[0]} DESC", *_UNLIMITED)
            return None
        if spec is None:
            return self._whole_frame(described, key)
        kind = str(spec.args["kind"]).lower()
        if kind == "groups":
            self._check_groups(window, spec)
        if kind == "range" and is_arrival(order_terms(described)):
            kind = self._rows_of_range(window, spec)
        start = self._bound(window, spec, "start", kind)
        end = 0 if spec.args.get("end") is None else self._bound(window, spec, "end", kind)
        if start is None and key.backwards:
            raise self._refusal(window, "UNBOUNDED PRECEDING", _BACKWARDS, "start the frame at CURRENT ROW")
        if end is None and not key.backwards:
            raise self._refusal(window, "UNBOUNDED FOLLOWING", _WHOLE, "end the frame at CURRENT ROW")
        excluded = spec.args.get("exclude")
        exclude: Any = "no others" if excluded is None else " ".join(str(excluded.name).lower().split())
        return Frame("rows" if kind == "rows" else "range", start, end, exclude)

    def check_arrival(self, window: exp.Expr, term: exp.Expr) -> None:
        """Refuses the descending order of arrival (semantics 46.116)."""
        if term.args.get("desc"):
            rule = "in descending order of arrival the rows before a row arrive after it, without an end"
            remedy = "leave DESC out: then lag has the rows of lead, and lead those of lag"
            raise self._refusal(window, "the order of arrival with DESC", rule, remedy)

    def _check_groups(self, window: exp.Window, spec: exp.Expr) -> None:
        """Refuses GROUPS with numbers. Without numbers such a frame is a RANGE."""
        bounds = (spec.args.get("start"), spec.args.get("end"))
        if any(bound not in ("CURRENT ROW", "UNBOUNDED", None) for bound in bounds):
            rule = "a frame counts rows, or has a length of time; it does not count groups of equal rows"
            remedy = "write RANGE with an interval, or ROWS with a number"
            raise self._refusal(window, "GROUPS with a number", rule, remedy)

    def _rows_of_range(self, window: exp.Window, spec: exp.Expr) -> str:
        """Returns "rows" for a RANGE in the order of arrival, in which no two rows are equal."""
        bounds = [spec.args.get(bound) for bound in ("start", "end")]
        if any(bound not in ("CURRENT ROW", "UNBOUNDED", None) for bound in bounds):
            rule = "rows in the order of their arrival have no event time, from which a length is counted"
            remedy = "order by the event time, or use ROWS"
            raise self._refusal(window, "RANGE with an interval", rule, remedy)
        return "rows"

    def _whole_frame(self, window: exp.Expr, key: OverKey) -> Frame:
        """Returns the frame of a window that has none: from the first row to the last peer."""
        if is_arrival(order_terms(window)):
            return Frame("rows", None, 0)
        if not key.order:
            remedy = "add ORDER BY and the event time, or ROWS BETWEEN n PRECEDING AND CURRENT ROW"
            raise self._refusal(window, "OVER without an order and a frame", _WHOLE, remedy)
        if key.backwards:
            remedy = "leave DESC out, or add ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
            raise self._refusal(window, f"ORDER BY {key.order[0]} DESC without a frame", _BACKWARDS, remedy)
        return Frame("range", None, 0)

    def _bound(self, window: exp.Window, spec: exp.Expr, which: str, kind: str) -> int | None:
        """Returns a bound as an offset; None if it is unbounded."""
        value, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
        if value == "CURRENT ROW":
            return 0
        if value == "UNBOUNDED":
            if (side == "FOLLOWING") == (which == "start"):
                rule = "a frame does not end before it starts"
                raise self._refusal(window, f"UNBOUNDED {side}", rule, "begin with UNBOUNDED PRECEDING")
            return None
        if not isinstance(value, exp.Expr):
            raise self._refusal(window, "a frame without a bound", "a frame has bounds", "write 2 PRECEDING")
        length = self._length(window, value, kind)
        return -length if side == "PRECEDING" else length

    def _length(self, window: exp.Window, value: exp.Expr, kind: str) -> int:
        known = constant(value)
        if kind == "rows":
            if known is None or not isinstance(known[0], int) or known[0] < 0:
                rule = "the bounds of ROWS are numbers of rows"
                raise self._refusal(window, "ROWS", rule, "write 2 PRECEDING")
            return int(known[0])
        if known is not None and known[0] == 0:
            return 0
        length: Duration = self.parser.duration_of(self.parser.expr_of(value))
        return length.us

    def _refusal(self, node: exp.Expr, shown: str, rule: str, remedy: str) -> SqlError:
        return self.parser.fail(shown, rule, remedy, self.parser.span_of(node))


def order_terms(window: exp.Expr) -> list[exp.Expr]:
    """Returns the terms of ORDER BY of a window."""
    order = window.args.get("order")
    return list(order.expressions) if order else []
