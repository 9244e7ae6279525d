"""One clock: what is known of time at some point of a run (semantics 2, 12)."""

import math
from dataclasses import dataclass


@dataclass
class Clock:
    """Processing time and watermark of an operator or a key.

    The watermark is minus infinity while it is None, and plus infinity once `finished` (semantics 12, 12.2).
    """

    processing_time: int = 0
    watermark: int | None = None
    finished: bool = False

    @property
    def mark(self) -> float | None:
        """The watermark; None before the first one, plus infinity after the end of input."""
        return math.inf if self.finished else self.watermark

    def raise_watermark(self, to: int | None) -> None:
        """Moves the watermark forward; a lower one, or None, changes nothing (semantics 12)."""
        if to is not None:
            self.watermark = to if self.watermark is None else max(self.watermark, to)

    def reached(self, instant: int | None) -> bool:
        """Returns whether the watermark has reached the instant; None is reached only at the end of input."""
        if self.finished:
            return True
        return self.watermark is not None and instant is not None and self.watermark >= instant
