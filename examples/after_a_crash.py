"""An operator with a store continues behind its last commit.

Output:

    continues behind [(0, 2)]
    rows: 5
    replays: 1
"""

import tempfile

import panewise as pw
from panewise import functions as F
from panewise.standalone import StandaloneOperator

SPEC = pw.WindowOperator(
    event_time="at",
    window=pw.Tumbling(10),
    position=pw.Position("partition", "offset"),
    aggregates=[F.count().alias("n")],
)
TYPES = {"at": "bigint", "partition": "bigint", "offset": "bigint"}


def main() -> None:
    """Runs the program."""
    with tempfile.TemporaryDirectory() as folder:
        with StandaloneOperator(SPEC, TYPES, store=folder) as operator:
            for offset in range(3):
                operator.add_message({"at": offset, "partition": 0, "offset": offset})
            operator.flush()
        with StandaloneOperator(SPEC, TYPES, store=folder) as operator:
            print("continues behind", operator.positions())
            for offset in range(2, 5):  # the source delivers offset 2 again
                operator.add_message({"at": offset, "partition": 0, "offset": offset})
            operator.advance(watermark=10)
            for emission in operator.drain():
                for pane in emission.dicts():
                    print("rows:", pane["n"])
            print("replays:", next(iter(operator.counts.values())).replays)


if __name__ == "__main__":
    main()
