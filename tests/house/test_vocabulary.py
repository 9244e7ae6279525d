"""Names and texts use the words of docs/glossary.md, not those that it retires. A name means one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import SRC, check_each, files, functions, nodes, part, shown, tree

# Each retired word with what to say instead. Words that also have a right use are not in this table.
RETIRED = {
    **dict.fromkeys(("tell", "tells", "telling", "told"), "emit, report, determine, say, or notify"),
    **dict.fromkeys(("send", "sends", "sending", "sent"), "emit"),
    **dict.fromkeys(("withdraw", "withdraws", "withdrawn", "withdrawal", "withdrawals"), "retract"),
    **dict.fromkeys(("go", "goes", "gone", "going"), "expire, drop, evict, purge, or delete"),
    **dict.fromkeys(("hold", "holds", "held"), "contain, or store; a window is live"),
    "kept": "stored, buffered, or live",
    **dict.fromkeys(("judge", "judges", "judged"), "validate"),
    **dict.fromkeys(("hear", "hears", "heard"), "driven by rows"),
    **dict.fromkeys(("ask", "asks", "asked"), "evaluate a trigger, call a function, or request"),
    **dict.fromkeys(("meet", "meets", "met"), "combine, overlap, or merge"),
    **dict.fromkeys(("gathering", "gathers"), "order-sensitive"),
    "joint": "merged",
    "windowless": "unassignable",
    **dict.fromkeys(("keymark", "keymarks"), "key watermark"),
    "mail": "shard batch",
    "moment": "trigger context",
    "overs": "OVER",
    "plumbing": "dataflow",
}


RIGHT = {"moment_parts"}  # the moments of a distribution


def retired(text: str) -> dict[str, str]:
    """Returns the retired words of a text or a name in snake_case, each with what to say instead."""
    return {word: RETIRED[word] for word in re.findall(r"[a-z]+", text.lower()) if word in RETIRED}


def identifiers(root: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields line and name of functions, classes, parameters, variables and attributes."""
    for node in ast.walk(root):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def snake_case(name: str) -> str:
    """Returns a name in snake_case."""
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda match: f"_{match[0]}", name)


def strings(path: Path, root: ast.AST) -> Iterator[tuple[str, int, str]]:
    """Yields file, line and text of the strings that may be read by users.

    These are the string constants that contain a space, outside docstrings. Values in f-strings are shown
    as {}.
    """
    left_out = {id(node.value) for node in ast.walk(root) if isinstance(node, ast.Expr)}
    for node in ast.walk(root):
        if id(node) in left_out:
            continue
        text = _text(node)
        if isinstance(node, ast.JoinedStr):
            left_out.update(map(id, node.values))
        if " " in text.strip():
            yield shown(path), node.lineno, text


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def retired_in_texts(path: Path) -> list[str]:
    found = [(line, text, retired(text)) for _, line, text in strings(path, tree(path))]
    return [f"{shown(path)}:{line}: {text!r} {words}" for line, text, words in found if words]


def test_texts_have_no_retired_words() -> None:
    check_each(files(), retired_in_texts)


def retired_in_names(path: Path) -> list[str]:
    found = [(line, name, retired(snake_case(name))) for line, name in identifiers(tree(path))]
    return [
        f"{shown(path)}:{line}: {name} {words}" for line, name, words in found if words and name not in RIGHT
    ]


def test_names_have_no_retired_words() -> None:
    check_each(files(), retired_in_names)


def test_all_kinds_of_names_are_found() -> None:
    source = "class HeldRow:\n    sent: int = 0\ndef tell(*gone, asked=1):\n    row.kept, judged = 1, 2\n"
    found = {name for _, name in identifiers(ast.parse(source)) if retired(snake_case(name))}
    assert found == {"HeldRow", "sent", "tell", "gone", "asked", "kept", "judged"}


def test_docstrings_are_left_out_and_f_strings_are_joined() -> None:
    source = '''
def f(name):
    """A docstring."""
    "a string that is an expression statement"
    g("one", "of {name}", f"{name!r} was "
        f"sent to {'a shard' if name else None}", key="told nothing")
    raise Error(f"{name} | rows are held | "
        "emit them")
'''
    assert sorted(strings(SRC / "x.py", ast.parse(source))) == [
        ("x.py", 5, "of {name}"),
        ("x.py", 5, "{} was sent to {}"),
        ("x.py", 6, "a shard"),
        ("x.py", 6, "told nothing"),
        ("x.py", 7, "{} | rows are held | emit them"),
    ]


def test_retired_words_are_found_in_texts_and_names() -> None:
    assert set(retired("Rows are HELD, not 'gone'")) == {"held", "gone"}
    assert set(retired("__each_tells")) == {"tells"}
    assert retired("threshold, goal and household") == {}


# Names of classes that are defined twice, and why.
NAMESAKES = {
    "Window": "panewise.Window, and PySpark's name in panewise.spark.compat",
    "WindowSpec": "what panewise.Window makes, and PySpark's name in panewise.spark.compat",
}
# A name of a function says what the function returns or does. These do not.
VAGUE = {"found", "given", "made", "of", "one"}
PUBLIC = {  # functions that users call
    "chrono.py": {"of"},  # Duration.of
    "spark/results/rows_between.py": {"of"},  # ResultRows.of
    "spec/aggregates/user_merge.py": {"of"},  # MergeAggregate.of
}
# What these two name goes: names of classes that are still defined twice, and parts with vague functions.
NAMESAKES_LEFT = {
    "Emission",
    "Found",
    "Keys",
    "Node",
    "Slices",
    "_Joined",
    "_Step",
}
VAGUE_LEFT = {"engine", "spark", "testing"}


def namesakes() -> list[str]:
    """Returns the names of classes that are defined more than once, each with the files.

    The oracle is a second implementation: a class of it may have the name that the engine has for the same.
    """
    places = defaultdict[str, list[Path]](list)
    for path in files():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    return [
        f"{name}: {', '.join(map(shown, paths))}"
        for name, paths in sorted(places.items())
        if len(paths) > 1 and sorted(map(part, paths)) != ["engine", "oracle"]
    ]


def test_a_class_has_a_name_of_its_own() -> None:
    found = {line.partition(":")[0]: line for line in namesakes()}
    assert [line for name, line in found.items() if name not in {*NAMESAKES, *NAMESAKES_LEFT}] == []
    assert sorted(NAMESAKES) == sorted(name for name in found if name in NAMESAKES)


def vague(path: Path) -> list[str]:
    allowed = VAGUE if part(path) in VAGUE_LEFT else PUBLIC.get(shown(path), set())
    return [
        f"{shown(path)}:{function.lineno}: {function.name}"
        for function in functions(path)
        if function.name in VAGUE - allowed
    ]


def test_functions_say_what_they_return() -> None:
    check_each(files(), vague)
