"""Names and texts use the words of docs/glossary.md, not others for the same. A name means one thing."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest

from panewise.families import FAMILIES
from panewise.matches import MATCHES
from tests.house.sources import SRC, check_each, files, functions, nodes, part, shown, text, tree

# Each replaced word with what to say instead. Words that also have a right use are not in this table.
REPLACED = {
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


RIGHT = {"moment_partials"}  # the moments of a distribution


def replaced(text: str) -> dict[str, str]:
    """Returns the replaced words of a text or a name in snake_case, each with what to say instead."""
    return {word: REPLACED[word] for word in re.findall(r"[a-z]+", text.lower()) if word in REPLACED}


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


def replaced_in_texts(path: Path) -> list[str]:
    found = [(line, text, replaced(text)) for _, line, text in strings(path, tree(path))]
    return [f"{shown(path)}:{line}: {text!r} {words}" for line, text, words in found if words]


def test_texts_have_no_replaced_words() -> None:
    check_each(files(), replaced_in_texts)


# What has a right use in prose: Polars gathers rows by their positions.
RIGHT_IN_PROSE = {"gathers", "gathering"}


@cache
def prose(path: Path) -> list[tuple[int, str]]:
    """Returns line and text of the docstrings and comments of a file, without examples and code."""
    lines = text(path).splitlines()
    comments = [(number, line.partition("# ")[2]) for number, line in enumerate(lines, 1) if "# " in line]
    docstrings = [
        (node.lineno + number, line)
        for node in nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number, line in enumerate(str(node.value.value).splitlines())
        if not line.strip().startswith((">>>", "..."))
    ]
    return [(number, re.sub(r"`[^`]*`", "", line)) for number, line in docstrings + comments]


def replaced_in_prose(path: Path) -> list[str]:
    return [
        f"{shown(path)}:{line}: {words}"
        for line, sentence in prose(path)
        if (words := {word: use for word, use in replaced(sentence).items() if word not in RIGHT_IN_PROSE})
    ]


def test_docstrings_and_comments_have_no_replaced_words() -> None:
    check_each(files(), replaced_in_prose)


def inverted(path: Path) -> list[str]:
    """Returns the lines in which a sentence begins with "Of", as in "Of late rows the columns are empty"."""
    return [
        f"{shown(path)}:{line}: {sentence.strip()}"
        for line, sentence in prose(path)
        if re.search(r"(^\s*|[.;:] |\d\. )Of [a-z]", sentence)
    ]


def test_sentences_begin_with_their_subject() -> None:
    check_each(files(), inverted)


def replaced_in_names(path: Path) -> list[str]:
    found = [(line, name, replaced(snake_case(name))) for line, name in identifiers(tree(path))]
    return [
        f"{shown(path)}:{line}: {name} {words}" for line, name, words in found if words and name not in RIGHT
    ]


def test_names_have_no_replaced_words() -> None:
    check_each(files(), replaced_in_names)


def test_all_kinds_of_names_are_found() -> None:
    source = "class HeldRow:\n    sent: int = 0\ndef tell(*gone, asked=1):\n    row.kept, judged = 1, 2\n"
    found = {name for _, name in identifiers(ast.parse(source)) if replaced(snake_case(name))}
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


def test_replaced_words_are_found_in_texts_and_names() -> None:
    assert set(replaced("Rows are HELD, not 'gone'")) == {"held", "gone"}
    assert set(replaced("__each_tells")) == {"tells"}
    assert replaced("threshold, goal and household") == {}


# Names of classes that are defined twice, and why.
NAMESAKES = {
    "Window": "panewise.Window, and PySpark's name in panewise.spark.compat",
    "WindowSpec": "what panewise.Window makes, and PySpark's name in panewise.spark.compat",
}
# A name of a function says what the function returns or does. These do not.
VAGUE = {"found", "given", "made", "of", "one"}
# Nor do these say what a parameter or a local variable is.
VAGUE_VARIABLES = {"begun", "found", "given", "made", "one"}
PUBLIC = {  # functions that users call
    "chrono.py": {"of"},  # Duration.of
    "spark/results/rows_between.py": {"of"},  # ResultRows.of
    "spec/aggregates/user_merge.py": {"of"},  # MergeAggregate.of
}


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
    assert [line for name, line in found.items() if name not in NAMESAKES] == []
    assert sorted(NAMESAKES) == sorted(name for name in found if name in NAMESAKES)


def vague(path: Path) -> list[str]:
    allowed = PUBLIC.get(shown(path), set())
    return [
        f"{shown(path)}:{function.lineno}: {function.name}"
        for function in functions(path)
        if function.name in VAGUE - allowed
    ]


def test_functions_say_what_they_return() -> None:
    check_each(files(), vague)


def local_names(root: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields line and name of functions, parameters and variables, without the fields of classes.

    Nor with the parts of an error: `given` beside `rule`.
    """
    fields = {
        id(target)
        for kind in ast.walk(root)
        if isinstance(kind, ast.ClassDef)
        for statement in kind.body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        for target in ast.walk(statement)
    }
    parts = {
        id(arg)
        for arguments in ast.walk(root)
        if isinstance(arguments, ast.arguments) and any(arg.arg == "rule" for arg in arguments.args)
        for arg in arguments.args
    }
    for node in ast.walk(root):
        match node:
            case ast.FunctionDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) if id(node) not in parts:
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields:
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name


def vague_variables(path: Path) -> list[str]:
    return [
        f"{shown(path)}:{line}: {name}" for line, name in local_names(tree(path)) if name in VAGUE_VARIABLES
    ]


def test_variables_say_what_they_are() -> None:
    check_each(files(), vague_variables)


def test_all_kinds_of_variables_are_found() -> None:
    source = """
class Row:
    given: int
    def f(self, one, *, key=lambda made: made):
        found = [begun for begun in key]
        match self:
            case [x, given]: pass
        return self.given(found=1)
"""
    names = [name for _, name in local_names(ast.parse(source)) if name in VAGUE_VARIABLES]
    assert sorted(names) == ["begun", "found", "given", "made", "one"]


# Folders of families and matches, and of what is like one. Their modules may have names that others have.
OWN = {*(family.name for family in FAMILIES), *MATCHES, "by_arrival", "joins", "nested", "retained"}
SAYS_NOTHING = {"common", "helper", "helpers", "misc", "util", "utils"}


def names_in(paths: Iterable[Path]) -> list[str]:
    """Returns the modules of a layer that have a name which another one has, too, or that says nothing.

    What is in a folder of a family or a match, or has its name, is found by that.
    """
    places = defaultdict[tuple[str, str], list[Path]](list)
    for path in paths:
        layer, *folders, last = path.relative_to(SRC).with_suffix("").parts or [""]
        if last not in ("__init__", "__main__") and not OWN & {*folders, last}:
            places[layer, last].append(path)
    return [
        f"{layer}: {' and '.join(map(shown, same))}"
        for (layer, last), same in places.items()
        if len(same) > 1 or last in SAYS_NOTHING
    ]


def test_a_module_has_a_name_of_its_own() -> None:
    in_layers = [path for path in files() if path.parent != SRC]
    assert names_in(in_layers) == []
    modules = ["engine/a/plan.py", "engine/over/plan.py", "engine/b/plan.py", "spec/plan.py", "spec/utils.py"]
    assert names_in(SRC / name for name in modules) == [
        "engine: engine/a/plan.py and engine/b/plan.py",
        "spec: spec/utils.py",
    ]


def test_modules_have_no_replaced_words() -> None:
    names = {shown(path): replaced(shown(path).removesuffix(".py")) for path in files()}
    assert {name: words for name, words in names.items() if words} == {}


# A policy is one of policy windows. Those of S1, in these files, are update policies.
UPDATE_POLICIES = (
    "standalone/retained/",
    "spec/operators/join/streams",
    "spec/matches/streams",
    "engine/join/streams/",
    "sql/joins/",
)


def plain_policies(path: Path) -> list[str]:
    """Returns the lines of texts with a policy that is not called an update policy."""
    texts = (node for node in nodes(path) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [
        f"{shown(path)}:{node.lineno}: {found[0]!r}"
        for node in texts
        for found in re.finditer(
            r"(?<!update )(?<!update\n )(?<!_)\bpolic(y|ies)\b", re.sub(r"\s+", " ", node.value)
        )
    ]


def test_a_policy_is_one_of_policy_windows() -> None:
    check_each([path for path in files() if shown(path).startswith(UPDATE_POLICIES)], plain_policies)


# To retire is to end the retention of messages, in these files; and in the name of an error that is public.
RETIRING = ("standalone/retained/", "stores/message_store.py", "testing/", "errors.py", "replaced_names.py")


def retiring(path: Path) -> list[str]:
    return [
        f"{shown(path)}:{line}: {name}"
        for line, name in identifiers(tree(path))
        if re.search(r"retire", name, re.IGNORECASE)
    ]


def test_only_messages_retire() -> None:
    check_each([path for path in files() if not shown(path).startswith(RETIRING)], retiring)


# Words of names that mean one thing, each with its forms, and where it is meant.
ONE_MEANING = {
    # The rows of a batch that are applied together: all, or with evaluate="record" a single one. Window
    # operators and joins have turns. A struct of the state has a field of this name, too.
    "turn": (
        {"turn", "turns", "turned"},
        ("engine/join/", "engine/windows/operator.py", "engine/aggregate/several_ranks.py"),
    ),
    # The highest offset of received rows; on pictures, what is drawn.
    "mark": (
        {"mark", "marks"},
        (
            *("engine/ingest/", "engine/join/batch/", "engine/join/two_sides.py"),
            *("engine/join/windows_of_sides.py", "engine/merged_header.py", "engine/nested/operator.py"),
            *("engine/protocol.py", "observe/", "spark/workers/", "standalone/operator.py"),
            *("standalone/positions.py", "standalone/retained/", "state/manifest.py"),
        ),
    ),
    # Rows wait, in these families; in a process messages, emissions and calls; and calls that wait for
    # queries. A window does not: it has pending rows, and its trigger a deadline. The stored description of
    # a run has a field of this name.
    "wait": (
        {"wait", "waits", "waited", "waiting", "await", "awaits", "awaited"},
        (
            *("spec/operators/deduplicate.py", "spec/operators/join/", "spec/matches/", "spec/describe/"),
            *("engine/deduplicate/", "engine/over/", "engine/join/"),
            *("oracle/deduplicate/", "oracle/over/", "oracle/join/"),
            *("standalone/", "cli/sql.py", "demo/", "spark/queries/", "spark/streaming_sql/script_run.py"),
            "state/manifest.py",
        ),
    ),
    # Earlier than a watermark or a horizon. In texts of SQL it is what follows, and OVER columns have a
    # public property of this name.
    "behind": (
        {"behind"},
        (
            *("engine/ingest/row_engine.py", "engine/join/", "engine/progress/clocks.py", "engine/windows/"),
            *("engine/windowing/fixed_lateness.py", "engine/windowing/session_lateness.py"),
            *("oracle/join/", "oracle/windows/", "spec/", "spark/streaming_sql/", "sql/", "testing/"),
        ),
    ),
    # What a join makes, as the public function says.
    "joined": (
        {"joined"},
        ("demo/join/", "spark/builders/join.py", "spark/streaming_sql/", "sql/"),
    ),
}


def names_with(forms: set[str], path: Path) -> list[str]:
    if not any(form in text(path).lower() for form in forms):
        return []
    return [
        f"{shown(path)}:{line}: {name}"
        for line, name in identifiers(tree(path))
        if forms & set(snake_case(name).lower().split("_"))
    ]


@pytest.mark.parametrize("word", ONE_MEANING)
def test_a_word_of_names_means_one_thing(word: str) -> None:
    forms, places = ONE_MEANING[word]
    check_each([path for path in files() if not shown(path).startswith(places)], partial(names_with, forms))


# Functions that many modules define, for the same in each.
IN_MANY_MODULES = {
    **dict.fromkeys(("describe", "division", "inspect", "tables", "take_over"), "a part of a family"),
    "check_columns": "the check of an input, in each layer",
    "command": "a command of the command line",
    "record_rows": "the rows of an operator as Python objects, a part of a family or a match",
    "play": "plays a script of the tests in a runtime",
    "result": "the result of an aggregate, in a module for each kind of partials",
    "result_of": "the result of an aggregate",
    "run": "runs a demo or a script of the tests",
    "write": "writes files of a demo",
}
MANY = 4  # modules, from which the name is in this table


def test_a_function_that_many_modules_define_means_one_thing() -> None:
    modules = Counter(
        name
        for path in files()
        for name in {node.name for node in tree(path).body if isinstance(node, ast.FunctionDef)}
        if not name.startswith("_")
    )
    assert {name for name, count in modules.items() if count >= MANY} == {*IN_MANY_MODULES}
