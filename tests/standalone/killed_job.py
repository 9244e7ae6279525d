"""A process that runs an operator with a store, and writes what it delivers, until it is killed.

Arguments: the directory of the store, the file of the sink, the kind of operator, the number of messages.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from panewise import Hopping, Interval, JoinOperator, Session, Side, WindowOperator
from panewise import functions as F
from panewise.standalone import Emission, StandaloneOperator

TYPES = {"k": "string", "event_time": "bigint", "v": "bigint"}
SPECS: dict[str, Any] = {
    "hopping": WindowOperator(
        window=Hopping(20, 10), keys=["k"], aggregates=[F.sum("v").alias("total"), F.median("v").alias("m")]
    ),
    "session": WindowOperator(window=Session(4), keys=["k"], aggregates=[F.collect_list("v").alias("all")]),
    "join": JoinOperator(
        left=Side(keys=["k"]), right=Side(keys=["k"], prefix="r_"), match=Interval(0, 9), how="full"
    ),
}


def message(offset: int) -> dict[str, Any]:
    """Returns the message at an offset."""
    return {"k": "abcd"[offset % 4], "event_time": 3 * offset - 40 * (offset % 9 == 5), "v": offset}


def made(kind: str, downstream: Any, store: str | None) -> StandaloneOperator:
    """Returns an operator that passes its emissions on at once."""
    spec = SPECS[kind]
    types: Any = TYPES if kind != "join" else {"left": TYPES, "right": TYPES}
    return StandaloneOperator(
        spec, types, mode="automatic", downstream=downstream, store=store, commit_rows=3 if store else 1
    )


def lines(emission: Emission) -> list[list[Any]]:
    """Returns the rows of an emission, each with its kind and its number."""
    tables = (
        ("row", emission.first_row, emission.rows),
        ("late", emission.first_late, emission.late),
    )
    return [
        [kind, first + at, repr(row)] for kind, first, rows in tables for at, row in enumerate(rows.rows())
    ]


def play(operator: StandaloneOperator, start: int, stop: int) -> None:
    """Adds the messages from an offset on. The watermark and the clock follow from the offset."""
    ports = list(operator.spec.ports)
    for offset in range(start, stop):
        port = ports[offset % len(ports)]
        operator.add_message(message(offset), port, position=("p", 0, offset))
        if offset % 5 == 0:
            operator.advance(watermark=3 * offset - 10, clock=offset)


def start_of(operator: StandaloneOperator) -> int:
    """Returns the offset to continue at. The watermark of an offset may have been lost, so it comes again."""
    reached = [offset for port in operator.spec.ports for *_, offset in operator.positions(port)]
    return max(reached, default=-1) + 1


def main() -> None:
    """Runs the operator from the position of its last commit to the end."""
    store, sink, kind, count = sys.argv[1:]
    with Path(sink).open("ab", buffering=0) as out:

        def downstream(emission: Emission) -> None:
            out.write(b"\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines(emission)))
            os.fsync(out.fileno())

        with made(kind, downstream, store) as operator:
            start = start_of(operator)
            if start and (start - 1) % 5 == 0:
                operator.advance(watermark=3 * (start - 1) - 10, clock=start - 1)
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            play(operator, start, int(count))
            operator.finish()
            operator.flush()


if __name__ == "__main__":
    main()
