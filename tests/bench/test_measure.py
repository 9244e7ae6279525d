"""bench.measure: the batches that count, and the order of the runs."""

from typing import Any

import pytest

from bench.measure import Pair, Run, alternate, batch_seconds, warm


def progress(batch: int, rows: int, ms: int) -> dict[str, Any]:
    return {
        "batchId": batch,
        "numInputRows": rows,
        "durationMs": {"triggerExecution": ms, "addBatch": ms - 1},
    }


def test_warm_up_and_batches_without_data_do_not_count() -> None:
    batches = [
        progress(3, 10, 300),
        progress(0, 10, 9000),
        progress(1, 10, 8000),
        progress(2, 10, 200),
        progress(4, 0, 1),
    ]
    assert warm(batch_seconds(batches)) == [0.2, 0.3]


def test_warm_up_is_counted_in_batches_with_data() -> None:
    batches = [progress(0, 10, 1), progress(1, 0, 2), progress(2, 10, 3), progress(3, 10, 4)]
    assert warm(batch_seconds(batches)) == [0.004]


def test_a_run_of_warm_up_alone_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"^2 batches with data \| the first 2 are warm-up \| give more batches$"
    ):
        warm(batch_seconds([progress(0, 10, 1), progress(1, 10, 1), progress(2, 0, 1)]))


def test_runs_alternate_after_the_warm_up_which_does_not_count() -> None:
    order = []

    def runner(name: str, *seconds: list[float]) -> Run:
        left = list(seconds)

        def run() -> list[float]:
            order.append(name)
            return left.pop(0)

        return run

    ours, peer = runner("ours", [99.0], [1.0, 2.0], [9.0], [1.5]), runner("peer", [4.0], [8.0])
    assert alternate(ours, peer, 2, [ours]) == Pair(1.75, 6.0)
    assert order == ["ours", "ours", "peer", "ours", "peer", "ours"]


def test_the_ratio_is_above_one_if_ours_is_faster() -> None:
    assert Pair(ours_s=0.5, peer_s=2.0).ratio == 4.0
