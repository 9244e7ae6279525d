"""Several inputs, each with a watermark of its own (semantics 12.5, 12.6, 12.9)."""

from panewise.chrono import saturating_add
from panewise.spec import Inputs


class InputClocks:
    """What the inputs have told.

    >>> clocks = InputClocks(Inputs(["a", "b"], idle_after=5))
    >>> clocks.tell("a", 10, 0), clocks.tell("b", 7, 0), clocks.tell("b", 6, 0)
    (None, 7, 7)
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._marks: dict[str, int] = {}
        self._heard: dict[str, int] = {}
        self._seen: dict[str, int] = {}  # of each input the highest event time in the present batch
        self._reading = False

    def tell(self, name: str, to: int, processing_time: int) -> int | None:
        """An input tells its watermark; gives that of all."""
        self._marks[name] = max(to, self._marks.get(name, to))
        if self._reading:
            self._heard[name] = processing_time
        return self._least(processing_time)

    def saw(self, name: str, time: int) -> None:
        """A valid row of an input came."""
        self._seen[name] = max(time, self._seen.get(name, time))

    def tell_seen(self, processing_time: int) -> int | None:
        """After a batch the inputs that it had rows of tell, together; gives the watermark of all."""
        for name, time in self._seen.items():
            self.tell(name, saturating_add(time, -self._inputs.delay_of(name)), processing_time)
        self._seen = {}
        return self._least(processing_time)

    @property
    def seen(self) -> bool:
        """Whether the present batch had rows of any input."""
        return bool(self._seen)

    def clock(self, processing_time: int) -> int | None:
        """The clock is read; gives the watermark of all. The silence of inputs is counted from the first reading."""
        if not self._reading:
            self._reading = True
            self._heard = dict.fromkeys(self._inputs.names, processing_time)
        return self._least(processing_time)

    def _least(self, processing_time: int) -> int | None:
        awake = [name for name in self._inputs.names if not self._is_idle(name, processing_time)]
        if not awake or any(name not in self._marks for name in awake):
            return None
        return min(self._marks[name] for name in awake)

    def _is_idle(self, name: str, processing_time: int) -> bool:
        idle_after = self._inputs.idle_after
        return idle_after is not None and name in self._heard and processing_time >= self._heard[name] + idle_after.us
