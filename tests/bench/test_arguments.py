"""python -m bench: the arguments that it accepts, and those that it refuses."""

import pytest

from bench.__main__ import arguments


def test_by_default_all_shapes_and_peers_run() -> None:
    asked = arguments([])
    assert (asked.shape, asked.peer, asked.batch_rows, asked.batches) == (None, None, 1_000_000, 7)


def test_one_shape_and_peer_can_be_asked_for() -> None:
    asked = arguments(["--shape", "session", "--batch-rows", "1000", "--batches", "4", "--peer", "polars"])
    assert (asked.shape, asked.peer, asked.batch_rows, asked.batches) == ("session", "polars", 1000, 4)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--shape", "swinging"], "invalid choice: 'swinging'"),
        (["--peer", "flink"], "invalid choice: 'flink'"),
        (["--shape", "over", "--peer", "native"], "Spark has no such windows on streams | leave --peer out"),
        (["--batch-rows", "0"], "--batch-rows 0 | a batch has a row or more | give a number such as 1000000"),
        (["--batch-rows", "many"], "invalid int value: 'many'"),
        (["--batches", "2"], "--batches 2 | the first 2 batches of a run are warm-up | give 3 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        arguments(argv)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
