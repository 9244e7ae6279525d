"""`python -m bench.sql`: one shape by SQL and by the fluent API: building it, and seconds per micro-batch."""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from bench import data, ours, session
from bench.measure import alternate, stream_seconds
from bench.shapes import SHAPES
from panewise.spark import sql

SHAPE: Final = "tumbling_final"
TEXT: Final = """
SELECT k, window_start, window_end, count(*) AS n, sum(v) AS s, max(v) AS m
FROM TUMBLE(events WATERMARK ts DELAY OF INTERVAL '10' SECONDS, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
GROUP BY k, window_start, window_end
EMIT AFTER WATERMARK, LATE NEVER
"""
BUILDS: Final = 20
WARM_UP: Final = 3
ROUNDS: Final = 3
Query = Callable[[DataFrame], DataFrame]


def by_sql(events: DataFrame) -> DataFrame:
    """Returns the panes of the shape, by SQL."""
    panes: DataFrame = sql(TEXT, events=events).panes
    return panes


def by_api(events: DataFrame) -> DataFrame:
    """Returns the panes of the shape, by the fluent API."""
    return ours.query(events, SHAPES[SHAPE])


def build_ms(query: Query, events: DataFrame) -> float:
    """Returns how many milliseconds it takes to build a query."""
    begin = time.perf_counter()
    query(events)
    return (time.perf_counter() - begin) * 1000


def compare_builds(events: DataFrame, count: int = BUILDS) -> tuple[float, float]:
    """Returns the median milliseconds of building by SQL and by the API, in turn, after a warm-up."""
    pairs = [(build_ms(by_sql, events), build_ms(by_api, events)) for _ in range(count + WARM_UP)][WARM_UP:]
    text, api = zip(*pairs, strict=True)
    return statistics.median(text), statistics.median(api)


def main(argv: Sequence[str] | None = None) -> None:
    """Measures both, and prints a line for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.sql", description=__doc__)
    parser.add_argument("--batch-rows", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--batches", type=int, default=7, help="micro-batches in a run; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="default: %(default)s")
    asked = parser.parse_args(argv)
    spark: SparkSession = session.start()
    stored = data.cached(asked.batch_rows, asked.batches)
    events = session.read(spark, stored)
    text, api = compare_builds(events)
    print(f"building {SHAPE}: SQL {text:.0f} ms, API {api:.0f} ms, SQL {text - api:+.0f} ms", flush=True)

    def seconds(query: Query) -> Callable[[], list[float]]:
        return lambda: stream_seconds(query(session.read(spark, stored)), "append")

    pair = alternate(seconds(by_sql), seconds(by_api), asked.rounds, [seconds(by_sql), seconds(by_api)])
    ratio = pair.ours_s / pair.peer_s
    print(f"running {SHAPE}: SQL {pair.ours_s:.2f} s, API {pair.peer_s:.2f} s, SQL / API {ratio:.2f}")
    spark.stop()


if __name__ == "__main__":
    main()
