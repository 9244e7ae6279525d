"""The oracle answers every transcript as worked out by hand."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.transcripts import documents, run

DOCUMENTS = documents()
EACH = pytest.mark.parametrize(
    "document", [document for _, document in DOCUMENTS], ids=[f"{file}: {document['name']}" for file, document in DOCUMENTS]
)
SEMANTICS = Path(__file__).parents[2] / "docs" / "semantics.md"


@EACH
def test_transcript(document: dict[str, Any]) -> None:
    run(document)


@EACH
def test_transcript_with_restarts(document: dict[str, Any]) -> None:
    """semantics 33: a restart after every event changes nothing."""
    events = [step for event in document["events"] for step in (event, {"op": "restart"})]
    run({**document, "events": events})


def test_names_are_unique() -> None:
    names = [document["name"] for _, document in DOCUMENTS]
    assert sorted(set(names)) == sorted(names)


def test_citations_exist() -> None:
    sentences = set(re.findall(r"^- \*\*([\d.]+)\*\*", SEMANTICS.read_text("utf-8"), re.MULTILINE))
    cited = {cite for _, document in DOCUMENTS for cite in document["cites"]}
    assert cited <= sentences, sorted(cited - sentences)


def test_the_runner_sees_a_wrong_expectation() -> None:
    document = copy.deepcopy(DOCUMENTS[0][1])
    for event in document["events"]:
        for pane in event.get("expect", {}).get("panes", []):
            name = next(iter(pane))
            pane[name] = "something else"
    with pytest.raises(AssertionError, match="something else"):
        run(document)
