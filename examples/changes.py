"""Each price with its change, in the order of event time, however the prices arrive.

Output:

    1 100 None
    2 103 3
    3 107 4
"""

from panewise import Window, over_operator
from panewise import functions as F
from panewise.standalone import StandaloneOperator

w = Window.partitionBy("stock").orderBy("at")
SPEC = over_operator({"before": F.lag("price").over(w), "n": F.row_number().over(w)})


def main() -> None:
    """Runs the program."""
    operator = StandaloneOperator(SPEC, {"stock": "string", "at": "timestamp", "price": "bigint"})
    for at, price in ((1, 100), (3, 107), (2, 103)):
        operator.add_message({"stock": "X", "at": at, "price": price})
    operator.advance(watermark=10)
    for emission in operator.drain():
        for row in emission.rows.iter_rows(named=True):
            change = None if row["before"] is None else row["price"] - row["before"]
            print(row["n"], row["price"], change)


if __name__ == "__main__":
    main()
