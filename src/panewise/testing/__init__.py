"""Tools for tests: play events in any runtime, compare panes, and check transcripts.

``panewise.testing.strategies`` generates specifications and events with Hypothesis, and
``panewise.testing.dataframes`` has streaming DataFrames to which a test adds rows.
"""

from panewise.testing.compare import assert_panes
from panewise.testing.retained import run_retained
from panewise.testing.runner import result_of, run
from panewise.testing.stream import Played, Step, TestStream

__all__ = ["Played", "Step", "TestStream", "assert_panes", "result_of", "run", "run_retained"]
