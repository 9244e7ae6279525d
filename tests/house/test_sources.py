"""Functions are short, operators read no clock, and some words, imports and file names are forbidden."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.house.sources import (
    check_each,
    files,
    functions,
    imported,
    lines_of,
    nodes,
    part,
    shown,
    text,
)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

FUNCTION_STOP = 25  # lines
# Longer functions that read better as one: lists of cases or options, hot paths, steps in their order.
LONGER = {
    "cli/sql.py": {"_on_spark"},
    "engine/aggregate/results.py": {"result"},
    "engine/ingest/validate.py": {"_reasons"},
    "engine/join/interval/method.py": {"from_batch"},
    "engine/windows/intake.py": {"apply_rows"},
    "engine/windows/operator.py": {"_batch_by_key"},
    "engine/windows/records.py": {"_pane_columns"},
    "spark/builders/apply_spec.py": {"apply"},
    "spark/queries/writer.py": {"start"},
    "spec/describe/triggers.py": {"_leaf"},
    "sql/expressions/expression_tree.py": {"_special"},
    "sql/joins/compiler.py": {"compile"},
    "sql/over/compiler.py": {"stage"},
    "sql/over/frames.py": {"frame"},
    "sql/parsing/parser.py": {"_select"},
    "sql/expressions/spark_names.py": {"__init__"},
    "stores/message_store.py": {"get_messages"},
    "stores/window_store.py": {"put"},
    "testing/aggregates.py": {"_plain"},
    "testing/events.py": {"script"},
    "testing/joins.py": {"join_specs"},
    "testing/runtimes/engine.py": {"_stored"},
    "testing/runtimes/retained.py": {"after"},
}
LONGEST = 40  # lines, of those
FILE_STOP = 400  # lines
# Longer files, and the idea of each.
LONGER_FILES = {
    "engine/tables/stored_table.py": "the window table",
    "engine/windows/operator.py": "the window operator",
    "standalone/operator_core.py": "the steps of an operator in process",
}
SAME = 3  # lines, from which functions that do the same must be one function
WITHOUT_CLOCK = {"chrono", "spec", "oracle", "state", "engine"}
FORBIDDEN_WORDS = re.compile(r"pickle|time\.sleep|NotImplementedError|\bTODO\b|\bFIXME\b|\bXXX\b")


def long_functions(path: Path) -> list[str]:
    return [
        f"{shown(path)}:{function.lineno}: {function.name} has {lines_of(function)} lines"
        for function in functions(path)
        if lines_of(function) > (LONGEST if function.name in LONGER.get(shown(path), ()) else FUNCTION_STOP)
    ]


def test_length_of_functions() -> None:
    check_each(files(), long_functions)


def test_length_of_files() -> None:
    lengths = {shown(path): text(path).count("\n") for path in files()}
    assert {name for name, lines in lengths.items() if lines > FILE_STOP} == {*LONGER_FILES}


class _Renamed(ast.NodeTransformer):
    """Renames parameters and local variables in the order in which they occur."""

    def __init__(self, local: set[str]) -> None:
        self.local, self.names = local, dict[str, str]()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        name = self.names.setdefault(node.id, f"local{len(self.names)}") if node.id in self.local else node.id
        return ast.Name(name, node.ctx)


def body_of(function: Function) -> str:
    """Returns what a function does, whatever the names of its parameters and local variables are."""
    within = list(ast.walk(function))
    local = {node.arg for node in within if isinstance(node, ast.arg)}
    local |= {node.id for node in within if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    renamed = _Renamed(local)
    return "".join(ast.dump(renamed.visit(deepcopy(statement))) for statement in _statements(function))


def _statements(function: Function) -> list[ast.stmt]:
    return function.body[ast.get_docstring(function, clean=False) is not None :]


def _form(function: Function) -> tuple[type[ast.AST], ...]:
    """Returns the kinds of a function's nodes: few functions have the same ones."""
    return tuple(type(node) for statement in _statements(function) for node in ast.walk(statement))


def repeated(all_functions: Iterable[tuple[str, Function]]) -> list[str]:
    """Returns the functions of three lines or more that do the same, each with their places."""
    forms, places = defaultdict[Any, list[Any]](list), defaultdict[str, list[str]](list)
    for place, function in all_functions:
        if lines_of(function) >= SAME:
            forms[_form(function)].append((place, function))
    for place, function in chain.from_iterable(alike for alike in forms.values() if len(alike) > 1):
        places[body_of(function)].append(place)
    return [" and ".join(same) for same in places.values() if len(same) > 1]


@pytest.mark.parametrize("oracle", [False, True])
def test_no_function_is_written_twice(oracle: bool) -> None:
    """The oracle is a second implementation, so its functions are compared among themselves."""
    own = [path for path in files() if (part(path) == "oracle") == oracle]
    placed = [
        (f"{shown(path)}:{function.lineno} {function.name}", function)
        for path in own
        for function in functions(path)
    ]
    assert placed
    assert repeated(placed) == []


def test_functions_that_do_the_same_are_found() -> None:
    source = """
def first(a):
    b = f(a)
    b += 1
    return b
def second(c):
    d = f(c)
    d += 1
    return d
def third(a):
    b = g(a)
    b += 1
    return b
"""
    placed = [(node.name, node) for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert repeated(placed) == ["first and second"]


def forbidden_words(path: Path) -> list[str]:
    return [
        f"{shown(path)}:{number}: {line.strip()}"
        for number, line in enumerate(text(path).splitlines(), 1)
        if FORBIDDEN_WORDS.search(line)
    ]


def test_words_that_stay_out() -> None:
    check_each(files(), forbidden_words)


def picklers(path: Path) -> list[str]:
    found = sorted({"pickle", "cloudpickle", "marshal", "shelve"} & set(imported(path)))
    return [f"{shown(path)}: imports {name}" for name in found]


def test_nothing_sleeps_or_pickles() -> None:
    check_each(files(), picklers)


def clocks(path: Path) -> Iterator[str]:
    if "time" in imported(path):
        yield f"{shown(path)}: imports time"
    used = {ast.unparse(node) for node in nodes(path) if isinstance(node, ast.Attribute)}
    for name in sorted(used & {"datetime.now", "datetime.utcnow", "datetime.today", "date.today"}):
        yield f"{shown(path)}: uses {name}"


def test_operators_read_no_system_clock() -> None:
    """Operators get the processing time (semantics 2)."""
    check_each([path for path in files() if part(path) in WITHOUT_CLOCK], clocks)


def test_no_file_is_called_utils() -> None:
    assert [
        shown(path) for path in files() if re.search(r"(^|_)(utils?|helpers?|common|misc)$", path.stem)
    ] == []
