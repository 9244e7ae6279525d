"""The clocks of the windows of a join (semantics 37.11)."""

from panewise.engine.join.clocks import JoinClocks
from panewise.engine.progress.clocks import Clocks


def of_windows(clocks: JoinClocks) -> Clocks:
    """Returns the clocks of the windows: their watermark is the lower one of both sides."""
    return Clocks(clocks.processing_time, None if clocks.finished else clocks.watermark, clocks.finished)
