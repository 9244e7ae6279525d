"""The commands of the benchmarks: the arguments that they accept, and what they say if a peer is missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bench import __main__ as plain
from bench import budget, data, flink, standalone_peers
from bench.joins import compare
from bench.joins import data as join_data
from bench.joins import flink as join_flink

PLAIN, JOINS, BUDGET = plain.arguments, compare.arguments, budget.arguments
FLINK, JOINS_FLINK, PEERS = flink.arguments, join_flink.arguments, standalone_peers.arguments
WARM_UP = "the first 2 batches are warm-up | give such as 1000000 and 3"


@pytest.mark.parametrize(
    ("arguments", "argv", "wanted"),
    [
        (PLAIN, "", {"shape": None, "peer": None, "batch_rows": 1_000_000, "batches": 7}),
        (
            PLAIN,
            "--shape session --batch-rows 1000 --batches 4 --peer polars",
            {"shape": "session", "peer": "polars", "batch_rows": 1000, "batches": 4},
        ),
        (JOINS, "--batches 3", {"batch_rows": 1_000_000, "batches": 3}),
        (FLINK, "", {"batch_rows": 1_000_000, "batches": 7, "query": None, "state": "heap"}),
        (JOINS_FLINK, "", {"batch_rows": 1_000_000, "batches": 6, "join": None, "state": "heap"}),
        (PEERS, "", {"rows": 1_000_000, "batches": 2, "rounds": 3, "run_once": None}),
    ],
)
def test_what_is_asked_for(arguments: Callable[[list[str]], Any], argv: str, wanted: dict[str, Any]) -> None:
    assert wanted.items() <= vars(arguments(argv.split())).items()


@pytest.mark.parametrize(
    ("arguments", "argv", "message"),
    [
        (PLAIN, "--shape swinging", "invalid choice: 'swinging'"),
        (PLAIN, "--peer flink", "invalid choice: 'flink'"),
        (PLAIN, "--shape over --peer native", "Spark has no such windows on streams | leave --peer out"),
        (BUDGET, "--beside --shape over", "Spark has no such windows on streams | leave --beside out"),
        (
            PLAIN,
            "--batch-rows 0",
            "--batch-rows 0 | a batch has a row or more | give a number such as 1000000",
        ),
        (PLAIN, "--batch-rows many", "invalid int value: 'many'"),
        (PLAIN, "--batches 2", "--batches 2 | the first 2 batches of a run are warm-up | give 3 or more"),
        (JOINS, "--batches 2", "--batches 2 | the first 2 batches of a run are warm-up | give 3 or more"),
        (JOINS, "--batch-rows 1", "--batch-rows 1 | each side has a row or more | give a number such as"),
        (FLINK, "--batch-rows 0", WARM_UP),
        (FLINK, "--batches 2", WARM_UP),
        (JOINS_FLINK, "--batch-rows 1", WARM_UP),
        (JOINS_FLINK, "--batches 2", WARM_UP),
        *(
            (PEERS, f"--{option} 0", "are 1 or more | give a greater number")
            for option in ("rows", "batches", "rounds")
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: Callable[[list[str]], Any], argv: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        arguments(argv.split())
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "run"),
    [
        (flink, lambda to: flink.flink_seconds("rows", data.Events(to, 1, 3), "heap")),
        (join_flink, lambda to: join_flink.flink_seconds("window", join_data.Sides(to, 2, 3), "heap")),
        (standalone_peers, lambda to: standalone_peers.seconds_of("Pathway, csv", to, 0, 1, pl.DataFrame())),
    ],
)
def test_without_a_peer(
    module: Any, run: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`make bench-peers` runs the peers themselves."""
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path)
    with pytest.raises(SystemExit, match=r"an environment of (its|their) own \| run make bench-peers"):
        run(tmp_path)
