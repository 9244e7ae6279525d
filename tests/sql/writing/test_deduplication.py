"""Deduplications are the same after a round trip through SQL."""

from dataclasses import replace

import pytest
from hypothesis import assume, given

from panewise.errors import SpecError, SqlError
from panewise.spec import DeduplicateOperator
from panewise.sql import compile_sql, to_sql
from panewise.testing.deduplicates import deduplicate_specs
from tests.engine.effort import examples


def specification(text: str) -> DeduplicateOperator:
    last = compile_sql(text).last
    assert last is not None
    assert isinstance(last.spec, DeduplicateOperator)  # type: ignore[union-attr]
    return last.spec  # type: ignore[union-attr]


@given(deduplicate_specs(watermark=None).filter(lambda spec: spec.keep == "first"))
@examples(150)
def test_a_deduplication_is_the_same_after_a_round_trip(drawn: DeduplicateOperator) -> None:
    """semantics 46.22, 46.74"""
    spec = replace(drawn, within="unlimited")
    try:
        text = to_sql(spec)
    except SqlError:
        assume(False)
        return
    assert specification(text) == spec
    assert to_sql(specification(text)) == text


def test_a_key_with_the_event_time() -> None:
    """semantics 46.33, 46.74"""
    spec = DeduplicateOperator(keys=["id", "ts"], within=1, event_time="ts")
    assert specification(to_sql(spec)) == spec


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ({"within": "1 hour"}, "within="),
        ({"within": "unlimited", "keep": "last"}, "keep='last'"),
        ({"within": "unlimited", "emit": "complete"}, "emit='complete'"),
    ],
)
def test_what_sql_cannot_say_of_a_deduplication(fields: dict[str, str], given: str) -> None:
    """semantics 46.71"""
    with pytest.raises(SpecError) as caught:
        to_sql(DeduplicateOperator(keys=["id"], **fields))  # type: ignore[arg-type]
    assert caught.value.given.startswith(given)
