"""A clock stream that is added to a checkpoint which was made without one (semantics 47.11).

Spark's offset log has a line for each source of a query, in the order of the plan, and refuses to start if
there are more or fewer. A source that has not begun has the line `-`. So such a line is appended to the last
two entries, which are those that a start reads. The added clock is the last source of the plan, so the lines
and files of the others stay where they are.
"""

from typing import Final

from pyspark.sql import SparkSession

from panewise.errors import StateError
from panewise.spark.queries.committed import last_number, uncommitted
from panewise.spark.session.driver import is_classic
from panewise.spark.sinks.directories import Directories

_VERSION: Final = "v1"  # the first line of an entry, of the only form that has a line for each source
_NOT_BEGUN: Final = "-"
_BEFORE_SOURCES: Final = 2  # the lines of an entry before those of its sources: the version and the clocks


def sources_so_far(session: SparkSession, checkpoint: str, remedy: str) -> int:
    """Returns the number of sources that the offset log of a checkpoint has; 0 if nothing has run yet.

    Raises:
        StateError: if a source cannot be added, or not now. `remedy` is what to do if it never can.
    """
    fault = "clock(...), which is added to a checkpoint without one"
    if not is_classic(session):
        rule = "a source is added to the offset log of Spark, which only a classic session can write"
        raise StateError(fault, rule, f"start once in a classic session, or {remedy}")
    batch = uncommitted(session, checkpoint)
    if batch is not None:
        rule = f"micro-batch {batch} has begun and is not committed, and Spark repeats it (semantics 47.11)"
        raise StateError(fault, rule, "start once without the clock and with available_now=True")
    latest = last_number(session, f"{checkpoint}/offsets")
    if latest < 0:
        return 0
    lines = _entry(session, checkpoint, latest).split("\n")
    if lines[0] != _VERSION:
        rule = f"a source is added to offset logs of the form {_VERSION}, and this one has {lines[0]!r}"
        raise StateError(fault, rule, f"leave clock out, or {remedy}")
    return len(lines) - _BEFORE_SOURCES


def add_source(session: SparkSession, checkpoint: str, before: int) -> None:
    """Adds a last source to the entries of the offset log that have only as many as `before`.

    An interrupted call can be repeated.
    """
    latest = last_number(session, f"{checkpoint}/offsets")
    for number in range(max(latest - 1, 0), latest + 1):
        text = _entry(session, checkpoint, number)
        if len(text.split("\n")) == before + _BEFORE_SOURCES:
            log = Directories(session, f"{checkpoint}/offsets")
            log.replace(str(number), f"{text}\n{_NOT_BEGUN}")


def _entry(session: SparkSession, checkpoint: str, number: int) -> str:
    (row,) = session.read.text(f"{checkpoint}/offsets/{number}", wholetext=True).collect()
    return str(row[0])
