"""For tests of your own: play events in any runtime, compare panes, read transcripts.

``panewise.testing.strategies`` makes specifications and events for Hypothesis.
"""

from panewise.testing.compare import assert_panes
from panewise.testing.runner import result_of, run

__all__ = ["assert_panes", "result_of", "run"]
