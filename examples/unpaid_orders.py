"""Orders that were not paid within an hour.

Output:

    unpaid: 2
"""

import panewise as pw
from panewise.standalone import StandaloneOperator

MINUTE = 60_000_000
SPEC = pw.JoinOperator(
    left=pw.Side(keys=["id"], event_time="ordered"),
    right=pw.Side(keys=["id"], event_time="paid"),
    match=pw.Interval("0 minutes", "1 hour"),
    how="anti",
)
TYPES = {
    "left": {"id": "bigint", "ordered": "timestamp"},
    "right": {"id": "bigint", "paid": "timestamp"},
}


def main() -> None:
    """Runs the program."""
    operator = StandaloneOperator(SPEC, TYPES)
    operator.add_message({"id": 1, "ordered": 0}, "left")
    operator.add_message({"id": 2, "ordered": 5 * MINUTE}, "left")
    operator.add_message({"id": 1, "paid": 20 * MINUTE}, "right")
    operator.advance(watermark=70 * MINUTE)
    for emission in operator.drain():
        for row in emission.rows.iter_rows(named=True):
            print("unpaid:", row["id"])


if __name__ == "__main__":
    main()
