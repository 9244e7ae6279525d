"""Hourly counts on Spark, from files to files; a second run goes on where the first one ended.

Output:

    []
    [('a', 9, 1)]
    [('a', 9, 1), ('b', 10, 1)]
"""

import tempfile
from pathlib import Path

import panewise as pw
from panewise import functions as F
from panewise.demo.job import session
from panewise.spark import ParquetSink, windowed


def run(folder: Path) -> None:
    """Reads the files that are new, and stops."""
    spark = session()
    orders = spark.readStream.schema("shop STRING, at TIMESTAMP").json(f"{folder}/orders")
    hourly = (
        windowed(orders.withWatermark("at", "5 minutes"), event_time="at")
        .groupBy("shop")
        .window(pw.Tumbling("1 hour"))
        .agg(F.count().alias("n"))
    )
    query = hourly.write(
        panes=ParquetSink(f"{folder}/hourly"), checkpoint=f"{folder}/checkpoint", available_now=True
    )
    query.awaitTermination()
    panes = spark.read.parquet(f"{folder}/hourly").orderBy("window_start", "shop")
    print([(row.shop, row.window_start.hour, row.n) for row in panes.collect()])


def main() -> None:
    """Runs the program."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "orders").mkdir()
        for number, (hour, shop) in enumerate(((9, "a"), (10, "b"), (11, "a"))):
            order = f'{{"shop": "{shop}", "at": "2024-05-01T{hour:02}:30:00Z"}}'
            (folder / "orders" / f"{number}.json").write_text(order, encoding="utf-8")
            run(folder)


if __name__ == "__main__":
    main()
