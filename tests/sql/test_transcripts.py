"""Every transcript of SQL gives its rows: the text becomes a specification, which the runtimes run."""

from typing import Any

import pytest

from tests.sql.player import documents, play

EACH = pytest.mark.parametrize(
    "document",
    [document for _, document in documents()],
    ids=[f"{file}: {document['name']}" for file, document in documents()],
)


@EACH
@pytest.mark.parametrize("runtime", ["oracle", "engine"])
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_transcript(document: dict[str, Any], runtime: str) -> None:
    play(document, runtime)
