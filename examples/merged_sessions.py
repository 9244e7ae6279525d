"""A late visit merges two sessions. Their results are retracted.

Output:

    + ann 30 minutes, 1 visits
    + ann 30 minutes, 1 visits
    - ann 30 minutes, 1 visits
    - ann 30 minutes, 1 visits
    + ann 80 minutes, 3 visits
"""

import panewise as pw
from panewise import functions as F
from panewise.standalone import StandaloneOperator

MINUTE = 60_000_000
SPEC = pw.WindowOperator(
    keys=["user"],
    event_time="at",
    window=pw.Session("30 minutes"),
    accumulation="retracting",
    allowed_lateness="2 hours",
    aggregates=[F.count().alias("visits")],
)


def main() -> None:
    """Runs the program."""
    operator = StandaloneOperator(SPEC, {"user": "string", "at": "timestamp"})
    for minute in (0, 50):
        operator.add_message({"user": "ann", "at": minute * MINUTE})
    operator.advance(watermark=90 * MINUTE)
    operator.add_message({"user": "ann", "at": 25 * MINUTE})
    for emission in operator.drain():
        for pane in emission.rows.iter_rows(named=True):
            length = pane["window_end"] - pane["window_start"]
            print(pane["op"], pane["user"], length // MINUTE, "minutes,", pane["visits"], "visits")


if __name__ == "__main__":
    main()
