"""The command `panewise state export`; tests/spark/dataflow/test_initial_state.py has real checkpoints."""

from dataclasses import replace
from pathlib import Path

import pytest

from panewise.checkpoints.export import ExportReport
from panewise.cli import main
from panewise.cli.state_export import _json, _text
from panewise.state.export_file import ExportedFrom

EXPORTED = ExportReport(ExportedFrom("id", "/c", 7, 5, ('{"logOffset":3}', None)), 1, 2, 4_000)


def test_what_is_printed() -> None:
    """semantics 48.2"""
    text = _text(EXPORTED, "f.state")
    assert "f.state: the state after micro-batch 7" in text
    assert '0: {"logOffset":3}' in text
    assert "1: nothing" in text
    printed = _json(EXPORTED, "f.state")
    assert (printed["file"], printed["sources"], printed["bytes"]) == (
        "f.state",
        EXPORTED.origin.sources,
        4_000,
    )


def test_a_micro_batch_that_has_begun() -> None:
    """semantics 48.15"""
    assert "has begun" not in _text(EXPORTED, "f.state")
    interrupted = replace(EXPORTED, has_begun_next=True)
    assert "micro-batch 8 has begun, and sinks may have its rows" in _text(interrupted, "f.state")
    assert _json(interrupted, "f.state")["has_begun_next"] is True


def test_operators_of_spark_in_the_query() -> None:
    """semantics 48.16"""
    assert "Spark" not in _text(EXPORTED, "f.state")
    behind = replace(EXPORTED, left_out=("Deduplicate", "Join"))
    assert "the states of Spark's own operators are not in it: Deduplicate, Join" in _text(behind, "f.state")
    assert _json(behind, "f.state")["left_out"] == ["Deduplicate", "Join"]


@pytest.mark.parametrize(
    ("checkpoint", "message"),
    [("none", "checkpoint"), ("hdfs://host/c", "a state is exported from a local checkpoint, without Spark")],
)
def test_checkpoints_that_cannot_be_exported(
    checkpoint: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """semantics 48.1: no file is left."""
    where = checkpoint if "://" in checkpoint else str(tmp_path / checkpoint)
    assert main(["state", "export", where, str(tmp_path / "file")]) == 2
    assert message in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
