"""Runs conformance transcripts in streaming queries: a dozen, every twelfth nightly, and all under soak."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.testing import transcripts
from panewise.testing.families import POLICY
from tests.transcripts.documents import DOCUMENTS as ALL
from tests.transcripts.functions import USER_LISTENERS, USER_WINDOWS

# Without the transcripts whose events are no input events on Spark (semantics 10.24).
DOCUMENTS = [
    (file, document)
    for file, document in ALL
    if not any(event["op"] in POLICY.ops for event in document["events"])
]
CHOSEN = [
    pytest.param(pair, marks=[] if n % 48 == 3 else pytest.mark.nightly)
    for n, pair in enumerate(DOCUMENTS)
    if n % 12 == 3
]
pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


def named(pair: tuple[str, Any]) -> str:
    document = pair[1]
    return f"{pair[0]}: {document['name'] if isinstance(document, dict) else document.name}"


@pytest.mark.parametrize("pair", CHOSEN, ids=named)
def test_transcript(spark: SparkSession, pair: tuple[str, Any]) -> None:
    transcripts.check(pair[1], "spark", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)


@pytest.mark.soak
@pytest.mark.parametrize("pair", DOCUMENTS, ids=named)
def test_every_transcript(spark: SparkSession, pair: tuple[str, Any]) -> None:
    transcripts.check(pair[1], "spark", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)
