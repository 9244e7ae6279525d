"""Messages per second: each is added, the watermark follows it, and what they emit is read.

`python -m bench.messages [WORD]`: the shapes whose names contain the word, in messages per second of
processor time, so that other processes matter little. The second figure is that of an operator that makes a
step of the engine of each message.
"""

import gc
import os
import random
import sys
import time
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    AsOf,
    DeduplicateOperator,
    Frame,
    Hopping,
    Interval,
    JoinOperator,
    LastRows,
    Latest,
    OverColumn,
    OverOperator,
    Session,
    Side,
    Sliding,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.standalone import StandaloneOperator
from panewise.standalone.direct_path import DirectPath

SECOND = 1_000_000
KEYS = 100
WARM, STEPS, DIRECT = (
    50,
    500,
    10_000,
)  # messages that are not measured, and how many are by steps and directly
TYPES = {"k": "bigint", "event_time": "bigint", "v": "bigint"}
TOTAL = F.sum("v").alias("total")
EACH = AfterWatermark(early=Always())


def windows(**options: Any) -> WindowOperator:
    """Returns an operator with sums in windows of a minute."""
    return WindowOperator(
        **{"window": Tumbling(60 * SECOND), "keys": ["k"], "aggregates": [TOTAL], **options}
    )


def over(what: Any, frame: Frame | None = None, **options: Any) -> OverOperator:
    """Returns an OVER operator with one column."""
    return OverOperator(keys=["k"], columns=[OverColumn(what, frame)], **options)


def join(match: Any, *, timed: bool = True, **options: Any) -> JoinOperator:
    """Returns a join by keys."""
    times = ("event_time", "r_event_time") if timed else (None, None)
    left, right = Side(keys=["k"], event_time=times[0]), Side(keys=["r_k"], event_time=times[1])
    return JoinOperator(left=left, right=right, match=match, **options)


SHAPES: dict[str, Any] = {
    "tumbling, early panes by count": windows(trigger=AfterWatermark(early=AfterCount(2))),
    "tumbling, early panes": windows(trigger=EACH),
    "tumbling, retracting": windows(trigger=EACH, accumulation="retracting"),
    "tumbling, only_updated": windows(trigger=EACH, only_updated=True),
    "hopping, early panes": windows(window=Hopping(60 * SECOND, 30 * SECOND), trigger=EACH),
    "session, early panes": windows(window=Session(60 * SECOND), trigger=EACH),
    "session, retracting": windows(window=Session(60 * SECOND), trigger=EACH, accumulation="retracting"),
    "sliding": windows(window=Sliding(10 * SECOND)),
    "OVER, 3 rows": over(TOTAL, Frame("rows", -2, 0)),
    "OVER, all rows so far": over(TOTAL, Frame("rows", None, 0)),
    "OVER, a range of 10 s": over(TOTAL, Frame("range", -10 * SECOND, 0)),
    "OVER, 3 rows, no event time": over(TOTAL, Frame("rows", -2, 0), event_time=None),
    "OVER, lag": over(F.lag("v")),
    "OVER, lead": over(F.lead("v")),
    "OVER, the row before to 2 after": over(TOTAL, Frame("rows", -1, 2)),
    "OVER, 10 s before to 1 s after": over(TOTAL, Frame("range", -10 * SECOND, SECOND)),
    "interval join": join(Interval(-SECOND, SECOND)),
    "interval join, left": join(Interval(-SECOND, SECOND), how="left"),
    "last rows (3)": join(LastRows(3), timed=False),
    "latest": join(Latest(), timed=False),
    "as-of join": join(AsOf()),
    "deduplication": DeduplicateOperator(keys=["k"], within=SECOND),
}


def messages(spec: Any, count: int) -> list[tuple[str, int, dict[str, Any]]]:
    """Returns messages in the order of time, 100 in a second, each with its input and its time."""
    source, ports, time_, made = random.Random(7), list(spec.ports), 0, []
    for number in range(count):
        time_ += source.randrange(20_000)
        message = {"k": source.randrange(KEYS), "event_time": time_, "v": source.randrange(1_000)}
        port = ports[number % len(ports)]
        prefix = "r_" if port == "right" else ""
        made.append((port, time_, {f"{prefix}{name}": value for name, value in message.items()}))
    return made


def operator_of(spec: Any) -> StandaloneOperator:
    """Returns a new operator."""
    right = {f"r_{name}": dtype for name, dtype in TYPES.items()}
    return StandaloneOperator(spec, TYPES if len(spec.ports) == 1 else {"left": TYPES, "right": right})


def rate(spec: Any, count: int, *, steps: bool) -> float:
    """Returns how many messages an operator evaluates in a second of processor time."""
    operator = operator_of(spec)
    if steps:
        operator._core.records = DirectPath()
    begin = 0.0
    for number, (port, at, message) in enumerate(messages(spec, WARM + count)):
        if number == WARM:
            gc.collect()
            begin = time.process_time()
        operator.add_message(message, input=port)
        operator.advance(watermark=at - SECOND)
        for emission in operator.drain():
            emission.dicts()
    operator.counts  # noqa: B018 - what waits is evaluated
    return count / (time.process_time() - begin)


def main() -> None:
    """Prints the speeds."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, spec in SHAPES.items():
        if word not in name:
            continue
        by_steps = rate(spec, STEPS, steps=True)
        direct = operator_of(spec).evaluation == "direct"
        now = rate(spec, DIRECT, steps=False) if direct else by_steps
        print(f"{name:<36}{now:>10,.0f} messages/s {by_steps:>8,.0f} by steps", flush=True)


if __name__ == "__main__":
    main()
