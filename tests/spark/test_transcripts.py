"""Runs conformance transcripts in streaming queries: a dozen; every twelfth nightly; all under soak."""

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
# Of each of these files a short one, so that every family is played; others are nightly, every twelfth.
FILES = (
    "accumulation", "chains", "clocks", "cogroups", "deduplicate", "frames", "joins", "policies",
    "row_windows", "sessions", "sliding", "triggers",
)  # fmt: skip
Pair = tuple[str, Any]


def length(pair: Pair) -> int:
    return len(pair[1]["events"])


SHORT = [min((one for one in DOCUMENTS if one[0] == file and length(one) > 2), key=length) for file in FILES]
OTHERS = [pytest.param(pair, marks=pytest.mark.nightly) for pair in DOCUMENTS[3::12] if pair not in SHORT]
pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


def named(pair: Pair) -> str:
    document = pair[1]
    return f"{pair[0]}: {document['name'] if isinstance(document, dict) else document.name}"


@pytest.mark.parametrize("pair", [*SHORT, *OTHERS], ids=named)
def test_transcript(spark: SparkSession, pair: Pair) -> None:
    transcripts.check(pair[1], "spark", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)


@pytest.mark.soak
@pytest.mark.parametrize("pair", DOCUMENTS, ids=named)
def test_every_transcript(spark: SparkSession, pair: Pair) -> None:
    transcripts.check(pair[1], "spark", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)
