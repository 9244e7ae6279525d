"""The state in a local checkpoint, copied to a file. Its content is tested with real queries in tests/cli."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import panewise as pw
from panewise import functions as F
from panewise.checkpoints.export import _origin, _SameSpecification
from panewise.checkpoints.layout import spark_operators
from panewise.errors import StateError
from panewise.spec.codec import to_dict
from panewise.state import Manifest


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


def test_the_operators_of_spark_in_a_record() -> None:
    """semantics 48.16: records of earlier releases do not have them."""
    assert spark_operators({"reads": {"stateful": ["Deduplicate"]}}) == ("Deduplicate",)
    assert spark_operators({"reads": {"stateful": []}}) == spark_operators({}) == ()


def test_shards_before_and_after_a_change() -> None:
    """semantics 48.14: an export in which some shards have not run since a change is refused."""
    spec = pw.WindowOperator(window=pw.Tumbling(10), aggregates=[F.count().alias("n")])
    before, after = (Manifest(to_dict(of)) for of in (spec, replace(spec, allowed_lateness=5)))
    with pytest.raises(StateError, match=r"change of \['allowed_lateness'\].*a micro-batch with rows"):
        _SameSpecification(after.spec).check(0, before)
    _SameSpecification(after.spec).check(1, before)  # an earlier operator, of which the record says nothing
    same = _SameSpecification(None)
    same.check(0, before)
    same.check(1, after)
    same.check(0, Manifest({name: value for name, value in before.spec.items() if name != "keys"}))
    with pytest.raises(StateError, match=r"allowed_lateness"):
        same.check(0, after)
