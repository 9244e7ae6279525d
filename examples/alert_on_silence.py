"""Says which devices have sent nothing for five minutes of the clock.

Output:

    silent: b last value 2
"""

import panewise as pw
from panewise import functions as F
from panewise.standalone import StandaloneOperator

MINUTE = 60_000_000
SPEC = pw.WindowOperator(
    keys=["device"],
    time="processing",
    window=pw.Session("5 minutes"),
    aggregates=[F.last("value").alias("last_value")],
)


def main() -> None:
    """Runs the program."""
    operator = StandaloneOperator(SPEC, {"device": "string", "value": "bigint"})
    operator.advance(clock=0)
    operator.add_message({"device": "a", "value": 1})
    operator.add_message({"device": "b", "value": 2})
    operator.advance(clock=4 * MINUTE)
    operator.add_message({"device": "a", "value": 3})
    operator.advance(clock=6 * MINUTE)
    for emission in operator.drain():
        for pane in emission.rows.iter_rows(named=True):
            print("silent:", pane["device"], "last value", pane["last_value"])


if __name__ == "__main__":
    main()
