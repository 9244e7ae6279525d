"""For tests of your own: play events in any runtime, compare panes, read transcripts.

``panewise.testing.strategies`` makes specifications and events for Hypothesis.
"""

from panewise.testing.compare import assert_panes
from panewise.testing.runner import run

__all__ = ["assert_panes", "run"]
