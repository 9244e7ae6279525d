"""Counts orders by minute: early after each two, on time, and late; each pane replaces the one before.

Output:

    EARLY 2 30
    ON_TIME 3 60
    LATE 4 100
"""

import panewise as pw
from panewise import functions as F
from panewise.standalone import StandaloneOperator

SECOND = 1_000_000  # event times are in microseconds
SPEC = pw.WindowOperator(
    event_time="at",
    window=pw.Tumbling("1 minute"),
    trigger=pw.AfterWatermark(early=pw.AfterCount(2), late=pw.Always()),
    allowed_lateness="5 minutes",
    aggregates=[F.count().alias("orders"), F.sum("amount").alias("amount")],
)


def main() -> None:
    """Runs the program."""
    operator = StandaloneOperator(SPEC, {"at": "timestamp", "amount": "bigint"})
    for second, amount in ((5, 10), (20, 20), (40, 30)):
        operator.add_message({"at": second * SECOND, "amount": amount})
    operator.advance(watermark=60 * SECOND)
    operator.add_message({"at": 50 * SECOND, "amount": 40})
    for emission in operator.drain():
        for pane in emission.dicts():
            print(pane["timing"], pane["orders"], pane["amount"])


if __name__ == "__main__":
    main()
