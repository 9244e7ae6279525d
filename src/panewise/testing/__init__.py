"""Tools for tests: play events in any runtime, compare panes, and check transcripts.

``panewise.testing.strategies`` generates specifications and events with Hypothesis.
"""

from panewise.testing.compare import assert_panes
from panewise.testing.runner import result_of, run

__all__ = ["assert_panes", "result_of", "run"]
