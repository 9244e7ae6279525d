"""The mean of the last three readings of each sensor, at each reading.

Output:

    a 1.0
    a 1.5
    b 7.0
    a 3.0
    a 4.0
"""

import panewise as pw
from panewise import functions as F
from panewise.standalone import StandaloneOperator

SPEC = pw.WindowOperator(
    keys=["sensor"], window=pw.Sliding(pw.rows(3)), aggregates=[F.avg("value").alias("mean")]
)


def main() -> None:
    """Runs the program."""
    operator = StandaloneOperator(SPEC, {"sensor": "string", "value": "double"})
    for sensor, value in (("a", 1.0), ("a", 2.0), ("b", 7.0), ("a", 6.0), ("a", 4.0)):
        operator.add_message({"sensor": sensor, "value": value})
    for emission in operator.drain():
        for pane in emission.dicts():
            print(pane["sensor"], pane["mean"])


if __name__ == "__main__":
    main()
