"""The state in a local checkpoint, copied to a file. Its content is tested with real queries in tests/cli."""

import json
from pathlib import Path

import pytest

from panewise.checkpoints.export import _origin
from panewise.errors import StateError


def checkpoint(folder: Path, *offsets: str, committed: str) -> str:
    for name, lines in (("offsets", ["v1", "{}", *offsets]), ("commits", ["v1", committed])):
        (folder / name).mkdir()
        (folder / name / "4").write_text("\n".join(lines))
    return str(folder)


def test_the_next_watermark_and_the_sources(tmp_path: Path) -> None:
    """semantics 48.2"""
    path = checkpoint(tmp_path, '{"a":{"0":3}}', "-", committed=json.dumps({"nextBatchWatermarkMs": 1500}))
    origin = _origin(path, 4)
    assert (origin.batch, origin.watermark, origin.sources) == (4, 1_500_000, ('{"a":{"0":3}}', None))
    assert origin.checkpoint == path


def test_a_query_without_a_watermark_and_files_that_are_missing(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, committed=json.dumps({"nextBatchWatermarkMs": 0}))
    assert _origin(path, 4).watermark is None
    with pytest.raises(StateError, match="a checkpoint has the files that Spark wrote"):
        _origin(path, 5)
