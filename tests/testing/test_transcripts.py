"""Every transcript passes in every in-process runtime, and a wrong transcript fails."""

import copy
from pathlib import Path
from typing import Any

import pytest

from panewise.errors import InputError
from panewise.testing.transcripts import check, load
from tests.nightly import every
from tests.transcripts.documents import DOCUMENTS, FILES
from tests.transcripts.functions import USER_LISTENERS, USER_WINDOWS


def each(part: int = 1) -> pytest.MarkDecorator:
    """Returns the parameters of a test of each transcript. Only each `part`th is in `make test`."""
    values = [
        pytest.param(document, id=f"{file}: {document['name']}", marks=every(part, number))
        for number, (file, document) in enumerate(DOCUMENTS)
    ]
    return pytest.mark.parametrize("document", values)


# With messages in place of batches, or with a store: one of them is here, for a quarter of the transcripts in
# `make test`. The other one is soak.
EACH_STANDALONE = pytest.mark.parametrize(
    ("document", "option"),
    [
        pytest.param(
            document,
            option,
            marks=[pytest.mark.soak] if (number + place) % 2 else every(4, number // 2),
            id=f"{file}: {document['name']}, {option}",
        )
        for number, (file, document) in enumerate(DOCUMENTS)
        for place, option in enumerate(("messages", "stored"))
    ],
)
ONE: dict[str, Any] = {
    "name": "one pane",
    "cites": ["16.4"],
    "spec": {"window": {"kind": "tumbling", "size": 10}, "aggregates": [{"fn": "count", "name": "n"}]},
    "events": [
        {"op": "add", "rows": [{"event_time": 1}], "state": [[0, 10]]},
        {"op": "watermark", "to": 10, "expect": {"panes": [{"n": 1}]}, "state": []},
    ],
}


@each()
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_transcript_of_the_oracle(document: dict[str, Any]) -> None:
    check(document, "oracle", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)


@each()
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_transcript_of_the_engine(document: dict[str, Any]) -> None:
    check(document, "engine", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)


@each(part=5)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_transcript_of_the_engine_with_restarts(document: dict[str, Any]) -> None:
    """semantics 33: a restart after every event changes no output."""
    events = [step for event in document["events"] for step in (event, {"op": "restart"})]
    check({**document, "events": events}, "engine", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)


@EACH_STANDALONE
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_transcript_of_a_standalone_operator(document: dict[str, Any], option: str) -> None:
    """semantics 31: a standalone operator gives the same answers, wherever its state lies."""
    options: dict[str, Any] = {option: True}
    check(document, "standalone", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS, **options)


def test_load_reads_these_documents() -> None:
    """`load` uses the parser in Python. Long files take it seconds."""
    for path in sorted(FILES, key=lambda path: path.stat().st_size)[:6]:
        assert load(path) == FILES[path]


def test_names_are_unique() -> None:
    names = [document["name"] for _, document in DOCUMENTS]
    assert sorted(set(names)) == sorted(names)


def test_every_document_cites_sentences() -> None:
    assert [document["name"] for _, document in DOCUMENTS if not document["cites"]] == []


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (
            0,
            {"state": []},
            (
                r"one pane: events\[0\] \(add\): live windows: expected 0 \(-\), got 1 \(\+\)\n\+ "
                r"window=\[0, 10\]"
            ),
        ),
        (
            0,
            {"expect": {"panes": [{"n": 1}]}},
            r"one pane: events\[0\] \(add\): panes: expected 1 \(-\), got 0 \(\+\)\n- n=1",
        ),
        (
            0,
            {"expect": {"counts": {"applied": 2}}},
            r"events\[0\] \(add\): counts: .*\n- applied=2\n\?         \^\n\n?\+ applied=1",
        ),
        (1, {"expect": {"panes": [{"n": 2}]}}, r"events\[1\] \(watermark\): panes: .*\n- n=2\n\+ n=1"),
        (1, {"expect": {"panes": [{"m": 1}]}}, r"events\[1\] \(watermark\): panes: .*\n- m=1"),
        (
            1,
            {"expect": None},
            r"events\[1\] \(watermark\): panes: expected 0 \(-\), got 1 \(\+\)\n\+ op='\+'  timing='ON_TIME'",
        ),
    ],
)
@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_a_wrong_transcript_fails(number: int, change: dict[str, Any], message: str, runtime: str) -> None:
    document = copy.deepcopy(ONE)
    check(document, runtime, user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)
    document["events"][number] |= change
    with pytest.raises(AssertionError, match=message):
        check(document, runtime, user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: x",
            "dict | a file of transcripts is a list of documents | start each document with '- name:'",
        ),
        (
            "- {name: x}",
            (
                "a document with ['name'] | a transcript has ['cites', 'events', 'name', 'spec'], and may "
                "have ['types'] | give these fields"
            ),
        ),
        (
            "- {name: x, cites: [], spec: {}, events: [{op: finish, expect: {pane: []}}]}",
            "x: expect.pane | what can be expected is ['panes', 'late', 'invalid', 'counts'] | leave it out",
        ),
        (
            "- {name: x, cites: [], spec: {}, events: []}\n- {name: x, cites: [], spec: {}, events: []}",
            "'x' twice | transcripts of a file have different names | rename one",
        ),
    ],
)
def test_a_malformed_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(path)
    assert caught.value.args[0] == f"{path}: {message}"
