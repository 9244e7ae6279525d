"""Runs conformance transcripts in streaming queries: four; every twelfth nightly; all under soak."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.testing import transcripts
from panewise.testing.families import POLICY
from tests.nightly import nightly
from tests.transcripts.documents import DOCUMENTS as ALL
from tests.transcripts.functions import USER_LISTENERS, USER_WINDOWS

# Without the transcripts whose events are no input events on Spark (semantics 10.24).
DOCUMENTS = [
    (file, document)
    for file, document in ALL
    if not any(event["op"] in POLICY.ops for event in document["events"])
]
# Of each of these files a short one. The first four are about windows. The families of the other files have
# streaming queries in tests of their builders; their transcripts are nightly, and so is every twelfth one.
FILES = ("accumulation", "clocks", "sessions", "triggers")
NIGHTLY_FILES = (
    "chains", "cogroups", "deduplicate", "frames", "joins", "limits", "policies", "row_windows", "sliding"
)  # fmt: skip
Pair = tuple[str, Any]


def length(pair: Pair) -> int:
    return len(pair[1]["events"])


def shortest(file: str) -> Pair:
    return min((pair for pair in DOCUMENTS if pair[0] == file and length(pair) > 2), key=length)


def is_changed_in_stored_form(pair: Pair) -> bool:
    """Returns whether a change makes windows or their partials anew from what is stored (47.18, 47.19)."""
    return pair[0] == "changes" and bool({"47.18", "47.19"} & {*pair[1].get("cites", ())})


SHORT = [shortest(file) for file in FILES]
LEAST = [shortest(file) for file in NIGHTLY_FILES]
OTHERS = [
    nightly((pair,))
    for number, pair in enumerate(DOCUMENTS)
    if pair not in SHORT and (number % 12 == 3 or pair in LEAST or is_changed_in_stored_form(pair))
]
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
