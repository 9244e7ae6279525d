"""Measures what a hot key costs a join: `python -m bench.joins skew`.

One key gets half of all rows. The baseline is the same rows with random keys. Each row has one partner in
both, so the number of pairs is the same.
"""

import argparse
from collections.abc import Sequence
from functools import partial

from bench import session
from bench.joins import data
from bench.joins.queries import Join
from bench.joins.runs import Runs
from bench.measure import WARM_UP_BATCHES, alternate, warm

JOIN = Join("inner", 0, data.PAIR_US)
_ROUNDS = 2


def main(argv: Sequence[str] | None = None) -> None:
    """Measures rows of a hot key and rows of random keys in turn."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.joins skew", description="What a key that gets half of all rows costs a join."
    )
    parser.add_argument(
        "--batch-rows", type=int, default=1_000_000, help="rows of both sides; default: %(default)s"
    )
    parser.add_argument("--batches", type=int, default=6, help="micro-batches in a run; default: %(default)s")
    asked = parser.parse_args(argv)
    if asked.batch_rows < 2 or asked.batches <= WARM_UP_BATCHES:
        given = f"--batch-rows {asked.batch_rows} --batches {asked.batches}"
        rule = f"each side has a row, and the first {WARM_UP_BATCHES} batches are warm-up"
        parser.error(f"{given} | {rule} | give such as 1000000 and {WARM_UP_BATCHES + 1}")
    runs = Runs(session.start())
    even = data.paired("join_even", asked.batch_rows, asked.batches, hot=False)
    hot = data.paired("join_hot", asked.batch_rows, asked.batches, hot=True)

    def seconds(sides: data.Sides) -> list[float]:
        return warm(runs.ours(sides, JOIN))

    of_even = partial(seconds, even)
    pair = alternate(partial(seconds, hot), of_even, _ROUNDS, [of_even])
    runs.spark.stop()
    pairs = {runs.emitted[sides, JOIN] for sides in (even, hot)}
    if pairs != {even.rows // 2}:
        raise RuntimeError(f"{pairs} pairs | each left row has one partner | compare the rows emitted")
    print(
        f"{even.rows // 2:,} pairs; skewed {pair.ours_s:.3f} s, even {pair.peer_s:.3f} s, "
        f"{pair.ours_s / pair.peer_s:.2f} times"
    )
