"""A process that runs an operator with a store, and writes what it emits, until it is killed.

Arguments: the kind of operator, its mode, the directory of the store, the file of the sink, the number of
messages. The content of each message follows from its offset, and so do the watermark and the clock.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from panewise import (
    Frame,
    Hopping,
    Interval,
    JoinOperator,
    OverColumn,
    OverOperator,
    Session,
    Side,
    StreamWindow,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.standalone import Callbacks, Emission, StandaloneOperator
from panewise.streamwindow import count
from tests.killing import tell

TYPES = {"k": "string", "event_time": "bigint", "v": "bigint"}
SUM = F.sum("v").alias("total")
SPECS: dict[str, Any] = {
    "tumbling": WindowOperator(window=Tumbling(20), keys=["k"], aggregates=[SUM]),
    "hopping": WindowOperator(window=Hopping(20, 10), keys=["k"], aggregates=[SUM, F.median("v").alias("m")]),
    "session": WindowOperator(window=Session(4), keys=["k"], aggregates=[F.collect_list("v").alias("all")]),
    "over": OverOperator(
        keys=["k"], event_time="event_time", columns=[OverColumn(SUM, Frame("rows", -2, 0))]
    ),
    "join": JoinOperator(
        left=Side(keys=["k"]), right=Side(keys=["k"], prefix="r_"), match=Interval(0, 9), how="full"
    ),
    "tumbling policy": StreamWindow.tumbling(count(3), partition_by=["k"]),
    "sliding policy": StreamWindow.sliding(count(3), count(2), partition_by=["k"], aggregates=[SUM]),
}
COMMIT_EVERY = 3


def message(offset: int) -> dict[str, Any]:
    """Returns the message at an offset."""
    return {"k": "abcd"[offset % 4], "event_time": 3 * offset - 40 * (offset % 9 == 5), "v": offset}


def accept(emission: Emission) -> None:
    """Accepts an emission."""


def made(
    kind: str,
    mode: Any,
    store: Path | None,
    downstream: Callable[[Emission], object] = accept,
    write: Callable[[str], object] = str,
) -> StandaloneOperator:
    """Returns an operator of a kind. In automatic mode it passes its emissions on at once."""
    types: Any = TYPES if kind != "join" else {"left": TYPES, "right": TYPES}
    settings: dict[str, Any] = {"store": store, "callbacks": Callbacks(write=write)}
    if mode == "automatic":
        settings["downstream"] = downstream
        settings["commit_rows"] = COMMIT_EVERY if store else 1
    return StandaloneOperator(SPECS[kind], types, mode=mode, **settings)


def lines(emission: Emission) -> list[list[Any]]:
    """Returns the rows of an emission, each with its kind and its number."""
    tables = (
        ("row", emission.first_row, emission.rows),
        ("late", emission.first_late, emission.late),
    )
    return [
        [kind, first + at, repr(row)] for kind, first, rows in tables for at, row in enumerate(rows.rows())
    ]


def add(operator: StandaloneOperator, offset: int) -> None:
    """Adds the message at an offset."""
    ports = list(operator.spec.ports)
    operator.add_message(message(offset), ports[offset % len(ports)], position=("p", 0, offset))


def play(operator: StandaloneOperator, start: int, stop: int, each: Callable[[int], object] = str) -> None:
    """Adds the messages from an offset on, and calls a function after each one."""
    for offset in range(start, stop):
        add(operator, offset)
        advance_after(operator, offset)
        each(offset)


def advance_after(operator: StandaloneOperator, offset: int) -> None:
    """Moves the clocks after some of the messages."""
    if offset % 5 == 0:
        operator.advance(watermark=3 * offset - 10, clock=offset)


def start_of(operator: StandaloneOperator) -> int:
    """Returns the offset to continue at."""
    reached = [offset for port in operator.spec.ports for *_, offset in operator.positions(port)]
    return max(reached, default=-1) + 1


def main() -> None:
    """Runs the operator from the position of its last commit to the end."""
    kind, mode, store, sink, messages = sys.argv[1:]
    tell("ready")
    with Path(sink).open("ab", buffering=0) as out:

        def write(emission: Emission) -> None:
            out.write(b"\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines(emission)))
            os.fsync(out.fileno())

        def committing(what: str) -> None:
            if what == "state":
                tell("commit")

        def flush(offset: int) -> None:
            if mode == "standalone" and offset % COMMIT_EVERY == 0:
                for emission in operator.get_result():
                    write(emission)
                operator.flush()
            tell(str(offset))

        with made(kind, mode, Path(store), write, committing) as operator:
            start = start_of(operator)
            # The clocks after the last message may have been lost. If not, they do not move.
            advance_after(operator, start - 1)
            play(operator, start, int(messages), flush)
            operator.finish()
            flush(0)
            operator.flush()


if __name__ == "__main__":
    main()
