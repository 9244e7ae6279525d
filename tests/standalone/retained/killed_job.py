"""A process that runs retained windows with a store, and writes what they emit, until it is killed.

Arguments: the kind of operator, the directory of the store, the file of the sink, the number of messages. The
content of each message follows from its offset, and so does the clock.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from panewise import functions as F
from panewise.standalone import (
    AggregatorSettings,
    Callbacks,
    JoinWindowOperator,
    JoinWindowSettings,
    WindowedAggregator,
    WindowOutput,
)
from tests.killing import tell
from tests.standalone.retained.scripts import shown

TYPES = {"k": "string", "event_time": "bigint", "v": "bigint"}
COMMON: Any = {"measure": "time", "retention_size": 10**6, "retention_time": 60, "late": 7}
SUM, MEDIAN = [F.sum("v").alias("a")], [F.median("v").alias("a")]
KINDS: dict[str, Callable[..., Any]] = {
    "sums": lambda **options: WindowedAggregator(
        AggregatorSettings(size=20, advance=20, **COMMON), SUM, TYPES, **options
    ),
    "medians": lambda **options: WindowedAggregator(
        AggregatorSettings(size=20, advance=10, **COMMON), MEDIAN, TYPES, **options
    ),
    "sessions": lambda **options: WindowedAggregator(
        AggregatorSettings(size=8, session_key="k", **COMMON), MEDIAN, TYPES, **options
    ),
    "join": lambda **options: JoinWindowOperator(
        JoinWindowSettings(size=20, advance=20, keyed_message_store=("k",), **COMMON), TYPES, **options
    ),
}


def message(offset: int) -> dict[str, Any]:
    """Returns the message at an offset. Some are late, and some are out of retention."""
    late = 30 * (offset % 9 == 5) + 100 * (offset % 17 == 16)
    return {"k": "abc"[offset % 3], "event_time": 3 * offset - late, "v": offset}


def play(operator: Any, start: int, stop: int, each: Callable[[int], object] = str) -> None:
    """Adds the messages from an offset on, and calls a function after each one."""
    for offset in range(start, stop):
        operator.add_message(message(offset), offset, now=offset)
        each(offset)


def restore(operator: Any) -> None:
    """Repeats the messages that a lost message store had."""
    offset = operator.restore_from
    while operator.restoring and offset is not None:
        operator.add_message(message(offset), offset)
        offset += 1


def main() -> None:
    """Runs the operator from its position to the end."""
    kind, store, sink, messages = sys.argv[1:]
    tell("ready")
    with Path(sink).open("ab", buffering=0) as out:

        def downstream(output: WindowOutput) -> None:
            out.write(b"\n" + json.dumps([output.sequence, repr(shown(output))]).encode() + b"\n")
            os.fsync(out.fileno())

        def committing(what: str) -> None:
            if what != "output":
                tell("commit")

        options: Any = {"mode": "automatic", "downstream": downstream, "store": store}
        with KINDS[kind](callbacks=Callbacks(write=committing), **options) as operator:
            restore(operator)
            start = 0 if operator.position is None else operator.position + 1
            play(operator, start, int(messages), lambda offset: tell(str(offset)))
            operator.flush()


if __name__ == "__main__":
    main()
