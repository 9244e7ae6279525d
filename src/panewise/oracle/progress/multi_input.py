"""The watermark of an operator with several inputs (semantics 12.5, 12.6, 12.9)."""

from panewise.chrono import saturating_add
from panewise.spec import Inputs


class InputClocks:
    """The watermarks that the inputs have reported, and when they last reported one.

    Methods that return a watermark return that of the operator: the least of the inputs that are not idle.
    They return None if all inputs are idle, or if one that is not idle has not reported yet.

    Attributes:
        inputs: the specification of the inputs.

    >>> clocks = InputClocks(Inputs(["a", "b"], idle_after=5))
    >>> clocks.report("a", 10, 0), clocks.report("b", 7, 0), clocks.report("b", 6, 0)
    (None, 7, 7)
    """

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._watermarks: dict[str, int] = {}
        self._reported_at: dict[str, int] = {}
        self._seen: dict[str, int] = {}  # the highest event time of each input in the current batch
        self._reading = False

    def report(self, name: str, to: int, processing_time: int) -> int | None:
        """Records a watermark that an input reports; returns the operator's watermark (semantics 12.5)."""
        self._watermarks[name] = max(to, self._watermarks.get(name, to))
        if self._reading:
            self._reported_at[name] = processing_time
        return self._least(processing_time)

    def record_time(self, name: str, time: int) -> None:
        """Records the event time of a valid row of an input (semantics 12.9)."""
        self._seen[name] = max(time, self._seen.get(name, time))

    def report_seen(self, processing_time: int) -> int | None:
        """Reports, after a batch, the watermarks of all inputs with valid rows in it (semantics 12.9).

        They report at once. Returns the operator's watermark.
        """
        for name, time in self._seen.items():
            self.report(name, saturating_add(time, -self.inputs.delay_of(name)), processing_time)
        self._seen = {}
        return self._least(processing_time)

    @property
    def seen(self) -> bool:
        """Whether the current batch had valid rows of any input."""
        return bool(self._seen)

    def clock(self, processing_time: int) -> int | None:
        """Reads the clock; returns the operator's watermark.

        The first reading counts as a report of every input: idle time is measured from it (semantics 12.6).
        """
        if not self._reading:
            self._reading = True
            self._reported_at = dict.fromkeys(self.inputs.names, processing_time)
        return self._least(processing_time)

    def _least(self, processing_time: int) -> int | None:
        active = [name for name in self.inputs.names if not self._is_idle(name, processing_time)]
        if not active or any(name not in self._watermarks for name in active):
            return None
        return min(self._watermarks[name] for name in active)

    def _is_idle(self, name: str, processing_time: int) -> bool:
        idle_after = self.inputs.idle_after
        return (
            idle_after is not None
            and name in self._reported_at
            and processing_time >= self._reported_at[name] + idle_after.us
        )
