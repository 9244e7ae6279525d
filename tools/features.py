"""The page docs/reference/features.md, from docs/reference/features.yaml. `make names` writes it.

The list has each feature, weak point and open point that was found in the five systems whose windows panewise
implements. A test compares the page with the list, and the list with the public names and the semantics.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
LIST = FOLDER / "features.yaml"
PAGE = FOLDER / "features.md"
STATES = {
    "works": "as in the source, or as the weak point should be",
    "differs": "there is something for this purpose, with another rule: see the last column",
    "outside": "Spark, or the program of the user, does it",
    "no": "not offered, for the reason in the last column",
}
HEAD = """\
# Features

What became of every feature of the five systems whose windows panewise implements: Samza's design
(SAMZA-552), Kafka's KIP-450 and KIP-428, Apex Malhar's WindowedOperator and the windows of IBM Streams. Weak
points that their users met, and points that their documents leave open, are listed, too.

API names are below `panewise`. Numbers are sentences of the [semantics](../semantics.md).

"""


def load() -> dict[str, dict[str, Any]]:
    """Returns the groups of features by their names."""
    groups: dict[str, dict[str, Any]] = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return groups


def page(groups: dict[str, dict[str, Any]]) -> str:
    """Returns the text of the page."""
    states = Counter(feature["state"] for group in groups.values() for feature in group["features"])
    rows = [f"| {state} | {states[state]} | {meaning} |" for state, meaning in STATES.items()]
    table = ["| state | features | meaning |", "|---|---|---|", *rows, ""]
    return (
        HEAD
        + "\n".join([*table, *(line for group in groups.values() for line in _group(group))]).rstrip()
        + "\n"
    )


def _group(group: dict[str, Any]) -> list[str]:
    head = [
        "",
        f"## {group['title']}",
        "",
        "| feature | state | API | semantics | how |",
        "|---|---|---|---|---|",
    ]
    return [*head, *map(_row, group["features"])]


def _row(feature: dict[str, Any]) -> str:
    api = ", ".join(f"`{name}`" for name in feature["api"])
    cells = (
        feature["feature"],
        feature["state"],
        api,
        ", ".join(feature["sentences"]),
        feature.get("how", ""),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
