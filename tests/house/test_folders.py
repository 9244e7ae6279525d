"""Imports between the folders of engine/, spec/, oracle/ and spark/ run one way.

In engine/: kernels <- {progress, aggregate, store} <- ingest <- windowing <- {windows <- {chain, join}, over,
policy} <- the files of engine/. Operator families do not import one another, except that chains and joins
import the window operators, and cogroups and windows over joins import joins. Code that several of them share
is in a folder below them.
"""

from pathlib import Path

import pytest

from tests.house.sources import SRC, check_each, circles, files, imported, shown

LOW = {"kernels", "tables", "progress", "aggregate", "ingest"}
SHARED = LOW | {"windowing"}
OPERATORS = {"protocol", "family_parts", "merged_header"}  # what operators are, and what a family supplies
BELOW = {
    "columns",
    "outputs",
    "rows",
    "row_interpreter",
    "received_offsets",
    "conditions",
    "aggregate",
    "progress",
    "windowing",
}
VALUES = {
    "windows",
    "triggers",
    "evictors",
    "max_windows",
    "watermarks",
    "source_position",
    "fields",
    "column_types",
    "column_values",
    "frames",
    "column_expressions",
    "whole_columns",
    "window_spec",
    "aggregates",
    "conditions",
    "carried_values",
}

# What the parts of families and matches are made of.
PARTS = {"rules", "operators", "protocol", "family_parts", "type_checks", "renaming", "codec", "describe"}

# Each folder of spark/ imports those before it. Two folders import all of these.
SPARK = (
    "shuffle",
    "session",
    "columns",
    "workers",
    "inputs",
    "sinks",
    "dataflow",
    "queries",
    "results",
    "builders",
)

# For each part of panewise: its folders, and what each may import of the part, besides itself. Files directly
# in the part that are not named here may import everything of it, and no folder may import them.
MAY_IMPORT: dict[str, dict[str, set[str]]] = {
    "engine": {
        "columns": set(),
        "kernels": set(),
        "tables": {"kernels"},
        "progress": {"kernels"},
        "protocol": LOW,
        "merged_header": {"kernels", "progress"},
        "family_parts": {"tables", "protocol", "merged_header"},
        "aggregate": {"kernels"},
        "ingest": {"kernels", "aggregate", "progress", "tables"},
        "windowing": LOW,
        "windows": SHARED | OPERATORS,
        "over": SHARED | OPERATORS,
        "policy": SHARED | OPERATORS,
        "deduplicate": LOW | OPERATORS,
        "join": SHARED | OPERATORS | {"windows"},
        "nested": LOW | {"protocol"},
        "chain": SHARED | OPERATORS | {"windows", "nested"},
        "windowed_join": LOW | OPERATORS | {"join", "nested"},
        "cogroup": SHARED | OPERATORS | {"windows", "join", "nested"},
    },
    "spec": {
        "fields": set(),
        "source_position": set(),
        "column_types": set(),
        "type_text": set(),
        "column_values": {"type_text"},
        "frames": set(),
        "column_expressions": set(),
        "whole_columns": set(),
        "window_spec": {"frames", "column_expressions", "whole_columns"},
        "windows": set(),
        "watermarks": {"windows"},
        "evictors": {"windows"},
        "max_windows": {"windows", "watermarks"},
        "triggers": {"windows"},
        "aggregates": {
            "column_types",
            "column_values",
            "column_expressions",
            "whole_columns",
            "window_spec",
        },
        "conditions": {"column_types", "column_values", "column_expressions", "aggregates"},
        "rules": {"windows", "triggers", "evictors", "source_position"},
        "carried_values": {"aggregates"},
        "protocol": {
            "aggregates",
            "carried_values",
            "column_types",
            "source_position",
            "watermarks",
            "windows",
        },
        "family_parts": {"carried_values", "source_position", "watermarks", "windows", "protocol"},
        "operators": VALUES | {"rules", "protocol", "family_parts"},
        "type_checks": VALUES | {"rules", "operators", "protocol", "family_parts"},
        "renaming": VALUES | {"operators"},
        "codec": VALUES | {"operators", "protocol", "family_parts", "renaming"},
        "describe": VALUES | {"operators", "protocol", "family_parts"},
        "matches": VALUES | PARTS,
        "families": VALUES | PARTS,
    },
    "oracle": {
        "columns": set(),
        "outputs": set(),
        "received_offsets": set(),
        "conditions": {"columns"},
        "progress": set(),
        "aggregate": {"columns"},
        "windowing": {"columns"},
        "rows": {"columns", "windowing"},
        "row_interpreter": {"columns", "outputs", "rows", "received_offsets", "progress"},
        "windows": BELOW,
        "over": BELOW,
        "policy": BELOW,
        "deduplicate": BELOW,
        "join": BELOW | {"windows"},
        "chain": BELOW | {"windows"},
        "windowed_join": BELOW | {"windows", "chain", "join"},
        "cogroup": BELOW | {"windows", "join"},
    },
    "spark": {
        **{folder: set(SPARK[:place]) for place, folder in enumerate(SPARK)},
        "compat": set(SPARK),
        "streaming_sql": set(SPARK),
    },
}
FOR_ALL = {
    "engine": {"columns"},
    "spec": {"fields"},
    "oracle": set[str](),
    "spark": {path.stem for path in (SRC / "spark").glob("*.py")},  # what several folders share
}
PLACES = [path for path in files() if path.relative_to(SRC).parts[0] in MAY_IMPORT]


def place(path: Path) -> tuple[str, str]:
    """Returns the part that a file is in, and its folder there, or its own name if it is in no folder."""
    part, first, *_ = path.relative_to(SRC).parts
    return part, first.removesuffix(".py")


def upward(path: Path) -> list[str]:
    """Returns the imports of a file that the rules do not allow."""
    part, here = place(path)
    rules = MAY_IMPORT[part]
    if here not in rules:
        return []
    allowed = rules[here] | {here} | FOR_ALL[part]
    inner = [name.split(".") for name in imported(path) if name.startswith(f"panewise.{part}.")]
    return [f"{shown(path)}: imports {'.'.join(name)}" for name in inner if name[2] not in allowed]


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_every_folder_has_a_rule(part: str) -> None:
    assert {path.name for path in (SRC / part).iterdir() if path.is_dir()} - {"__pycache__"} <= set(
        MAY_IMPORT[part]
    )


def test_imports_between_folders_run_one_way() -> None:
    check_each(PLACES, upward)


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_no_folder_reaches_itself(part: str) -> None:
    reach: dict[str, set[str]] = {}
    for path in PLACES:
        inner = {name for name in imported(path) if name.startswith(f"panewise.{part}.")}
        if place(path)[0] == part:
            here = reach.setdefault(place(path)[1], set())
            here |= {name.split(".")[2] for name in inner}
    assert circles({here: near - {here} for here, near in reach.items()}) == []
