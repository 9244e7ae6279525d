"""The list of features of the five systems, from which a page of the site is made."""

import re
from collections import Counter
from pathlib import Path

from tests.house.test_semantics_cited import FILES, citations
from tools.features import LIST, STATES, load

ROOT = Path(__file__).resolve().parents[2]
GROUPS = load()
FEATURES = [feature for group in GROUPS.values() for feature in group["features"]]
# How many features the inventory of each document has: none may get lost.
SIZES = {
    "samza-design": 134,
    "samza-shipped": 37,
    "samza-weak": 14,
    "apex": 80,
    "apex-weak": 34,
    "kip-450-draft": 14,
    "kip-450": 29,
    "kip-428": 26,
    "kafka-windows": 28,
    "kafka-weak": 17,
    "ibm": 67,
    "ibm-weak": 7,
    "samza-open": 33,
    "apex-open": 20,
    "kafka-ibm-open": 32,
}

# Sections and sentences of the semantics that no transcript plays, because they are not about what an
# operator emits for events. Python tests show them.
WITHOUT_TRANSCRIPTS = {
    "25": "the message store",
    "26": "retained windows",
    "31": "delivery in process",
    "32": "modes of delivery",
    "33": "the life cycle",
    "34": "stores",
    "46": "SQL",
    "49": "sinks",
    "6.9": "what windows share",
    "7.8": "what sliding windows share",
    "10.23": "calls of a listener",
    "15.5": "metrics",
    "15.8": "the log",
    "24.7": "user aggregates",
    "24.14": "folds",
    "24.20": "checks of user aggregates",
    "42.6": "the watermark downstream",
    "42.11": "the watermark of Spark's operators",
}


def test_each_feature_of_the_inventories_is_there_once() -> None:
    assert {name: len(group["features"]) for name, group in GROUPS.items()} == SIZES
    twice = [name for name, number in Counter(feature["id"] for feature in FEATURES).items() if number > 1]
    assert not twice, f"{LIST.name} has {twice} more than once"


def test_each_feature_has_an_api_and_a_sentence() -> None:
    bare = [feature["id"] for feature in FEATURES if not (feature["api"] and feature["sentences"])]
    assert not bare, f"{bare} have no API or no sentence"


def test_what_is_not_as_in_the_source_says_how() -> None:
    assert {feature["state"] for feature in FEATURES} == set(STATES)
    silent = [feature["id"] for feature in FEATURES if feature["state"] != "works" and not feature.get("how")]
    assert not silent, f"{silent} do not say how they differ"


def test_the_api_is_public() -> None:
    names = (ROOT / "tests/house/public_names.txt").read_text(encoding="utf-8").splitlines()
    public = {re.split(r"[ (]", name)[0].removeprefix("panewise.") for name in names}
    listed = [(feature["id"], name) for feature in FEATURES for name in feature["api"]]
    missing = [f"{feature}: {name}" for feature, name in listed if name not in public]
    assert not missing, missing


def test_the_sentences_exist() -> None:
    semantics = (ROOT / "docs/semantics.md").read_text(encoding="utf-8")
    numbers = set(re.findall(r"^- \*\*([\d.]+)\*\*", semantics, re.MULTILINE))
    cited = [(feature["id"], number) for feature in FEATURES for number in feature["sentences"]]
    missing = [f"{feature}: {number}" for feature, number in cited if number not in numbers]
    assert not missing, missing


def without_transcripts(number: str) -> bool:
    return not {number, number.partition(".")[0]}.isdisjoint(WITHOUT_TRANSCRIPTS)


def test_each_feature_is_shown_by_a_transcript_or_a_test() -> None:
    """A transcript cites one of its sentences. What transcripts cannot play, Python tests show.

    tests/house/test_semantics_cited.py proves that each sentence has a test.
    """
    played = set[str]().union(*(citations(path) for path in FILES if path.suffix == ".yaml"))
    missing = [
        feature["id"]
        for feature in FEATURES
        if played.isdisjoint(feature["sentences"]) and not any(map(without_transcripts, feature["sentences"]))
    ]
    assert not missing, f"{missing} need a sentence that a transcript shows"
