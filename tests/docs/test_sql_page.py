"""The page on SQL: its grammar is that of the parser, and the queries of its tables compile."""

import re
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.cli import main
from panewise.sql import compile_sql
from panewise.sql.parsing.emit import FORMS, INTERVAL, ROWS
from panewise.sql.parsing.parser import parse
from tests.engine.effort import examples
from tests.sql.player import documents
from tools import sql_forms

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = (DOCS / "sql.md").read_text(encoding="utf-8")
GRAMMAR: Final = re.search(r"## Grammar.*?```\n(.*?)```", PAGE, re.DOTALL)[1]  # type: ignore[index]
RULES: Final = {
    name: text.strip() for name, text in re.findall(r"^(\w+)\s+=\s(.*?);$", GRAMMAR, re.DOTALL | re.MULTILINE)
}
# What the grammar leaves to Spark.
SAMPLES: Final = {
    "query": ["SELECT a FROM u"],
    "expression": ["a.x = b.y", "a.ts >= b.ts", "a.x"],
    "names": ["(k, j)"],
    "interval": ["INTERVAL '5' MINUTES", "INTERVAL 1 HOUR"],
    "name": ["t", "`a b`"],
    "operand": ["to_timestamp(x)", "x + INTERVAL '1' HOUR"],
    "alias": ["AS x", "x"],
    "option": ["order", "null_keys"],
    "value": ["true", "'id'"],
    "column": ["ts", "k"],
    "columns": ["k", "(k, j)"],
    "number": ["3"],
    "unit": ["HOURS", "MINUTES"],
    "string": ["'5 minutes'"],
}
TOKEN: Final = re.compile(r'"[^"]+"|\w+|[\[\]{}()|]|\.\.\.')


class Sentences:
    """Draws sentences of a rule of the grammar."""

    def __init__(self, random: Random) -> None:
        self.random, self.depth = random, 0

    def of_rule(self, name: str) -> str:
        if name in SAMPLES:
            return self.random.choice(SAMPLES[name])
        self.depth += 1
        alternatives, rest = _alternatives(TOKEN.findall(RULES[name]))
        assert not rest, (name, rest)
        text = self._of(alternatives)
        self.depth -= 1
        return text

    def _of(self, alternatives: list[list[Any]]) -> str:
        """Returns a sentence of one of these alternatives; deep inside of the first one, which ends."""
        words: list[str] = []
        for item in self.random.choice(alternatives[:1] if self.depth > 4 else alternatives):
            if isinstance(item, str):
                words.append(item.strip('"') if item.startswith('"') else self.of_rule(item))
            else:
                kind, inner = item
                times = {"(": 1, "[": self.random.randint(0, 1), "{": self.random.randint(0, 2)}[kind]
                words += [self._of(inner) for _ in range(times)]
        return " ".join(filter(None, words))


def _alternatives(tokens: list[str]) -> tuple[list[list[Any]], list[str]]:
    """Returns alternatives of words, names of rules and parts in brackets, and the tokens behind them."""
    alternatives: list[list[Any]] = [[]]
    while tokens and tokens[0] not in ")]}":
        token, tokens = tokens[0], tokens[1:]
        if token == "|":
            alternatives.append([])
        elif token in "([{":
            inner, tokens = _alternatives(tokens)
            tokens = tokens[1:]
            alternatives[-1].append((token, inner))
        else:
            alternatives[-1].append(token)
    return alternatives, tokens


WHOLE: Final = {
    "emit": "SELECT count(*) FROM t GROUP BY k {}",
    "table": "SELECT a FROM {}",
    "window": "SELECT a FROM {}",
    "source": "SELECT a FROM {}",
    "clause": "SELECT count(*) FROM t {} GROUP BY k",
}


@pytest.mark.parametrize("rule", WHOLE)
@given(seed=st.integers(0, 2**32))
@examples(200)
def test_the_parser_accepts_the_sentences_of_the_grammar(rule: str, seed: int) -> None:
    """semantics 46.7, 46.63"""
    parse(WHOLE[rule].format(Sentences(Random(seed)).of_rule(rule)))


def test_the_grammar_has_each_form_of_emit() -> None:
    """semantics 46.7"""
    random = Random(7)
    drawn = {_words(Sentences(random).of_rule("part")) for _ in range(3_000)}
    missing = [words for words in FORMS if " ".join(words) not in drawn]
    assert not missing


def _words(text: str) -> str:
    text = re.sub(r"INTERVAL ('\d+'|\d+) \w+", INTERVAL, text)
    return re.sub(r"\d+ ROWS", ROWS, text)


def test_the_grammar_has_no_other_words_than_the_parser() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (Path(__file__).resolve().parents[2] / "src" / "panewise" / "sql").rglob("*.py")
    )
    words = {word for text in re.findall(r'"([A-Z_ ]+)"', GRAMMAR) for word in text.split()}
    assert not [word for word in sorted(words) if not re.search(rf"\b{word}\b", sources, re.IGNORECASE)]


FORMS_PAGE: Final = (DOCS / "reference" / "sql-forms.md").read_text(encoding="utf-8")


def test_the_page_of_forms_has_all_transcripts() -> None:
    assert {name for name, _ in documents()} == {*sql_forms.TITLES}
    assert FORMS_PAGE.count("```sql") == len(documents())


def test_the_page_of_forms_has_each_form() -> None:
    """semantics 46.7"""
    texts = [" ".join(text.split()) for text in re.findall(r"```sql\n(.*?)```", FORMS_PAGE, re.DOTALL)]
    words = re.findall(r"[A-Z_]+", " ".join(re.findall(r'"([A-Z_ ()]+)"', GRAMMAR)))
    known = set(re.findall(r"\w+", " ".join(texts).upper()))
    assert {*words} <= known
    said = [re.search(r"\bEMIT (?:STREAM )?(.*)", text) for text in texts]
    shown = [_words(found[1]) for found in said if found]
    parts = {" ".join(words) for words in FORMS}
    assert not [part for part in sorted(parts) if not any(part in text for text in shown)]


def cells() -> list[Any]:
    tables = re.findall(r"### Queries of (.*?)\n(.*?)(?=\n## |\n### |\Z)", PAGE, re.DOTALL)
    return [
        pytest.param(text, id=f"{system}: {text[:40]}")
        for system, table in tables
        for text in re.findall(r"\| `(SELECT [^`]*)` \|$", table, re.MULTILINE)
    ]


@pytest.mark.parametrize("text", cells())
def test_a_query_of_the_tables_is_an_operator(text: str) -> None:
    assert compile_sql(text).last is not None


def test_the_tables_have_queries() -> None:
    assert len(cells()) > 25


def test_the_script_of_the_how_to_passes_the_check(tmp_path: Path) -> None:
    text = (DOCS / "how-to" / "sql-job.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```sql\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    path = tmp_path / "job.sql"
    path.write_text(script, encoding="utf-8")
    assert main(["sql", "--check", str(path)]) == 0
