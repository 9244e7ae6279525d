"""The list of features of the five systems, from which a page of the site is made."""

import re
from collections import Counter
from pathlib import Path

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


def test_each_feature_of_the_inventories_is_there_once() -> None:
    assert {name: len(group["features"]) for name, group in GROUPS.items()} == SIZES
    twice = [name for name, number in Counter(feature["id"] for feature in FEATURES).items() if number > 1]
    assert not twice, f"{LIST.name} has {twice} more than once"


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
