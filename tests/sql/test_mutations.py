"""Mutated texts compile, or raise our error and nothing else, in a few milliseconds each."""

import gc
import sys
import time
import warnings
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.errors import SpecWarning, SqlError
from panewise.sql import compile_sql
from panewise.sql.parsing.expressions import tokens_of
from tests.engine.effort import examples
from tests.nightly import nightly
from tests.sql.player import documents

TEXTS: Final = [document["sql"] for _, document in documents()]
LIMIT: Final = 0.005  # seconds of processor time for 500 characters
WORDS: Final = (
    *[
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP_BY",
        "HAVING",
        "QUALIFY",
        "WINDOW",
        "EMIT",
        "CHANGES",
        "FINAL",
        "TABLE",
        "OVER",
        "INTERVAL",
        "HOUR",
        "AS",
        "t",
        "NULL",
    ],
    *[
        "DISTINCT",
        "WITH",
        "DESCRIPTOR(ts)",
        "ROWS",
        "RANGE",
        "BETWEEN",
        "AND",
        "OR",
        "NOT",
        "CASE",
        "WHEN",
        "END",
        "WATERMARK",
        "JOIN",
        "LEFT",
        "ASOF",
        "FOR",
    ],
    *[
        "MATCH_CONDITION",
        "WITHIN",
        "SYSTEM_TIME",
        "USING",
        "ON",
        "UNION",
        "CUBE",
        "ROLLUP",
        "LATERAL",
        "VALUES",
        "PRECEDING",
        "UNBOUNDED",
    ],
    *[
        "(",
        ")",
        ",",
        "=>",
        "*",
        "1",
        "-",
        "'1'",
        ".",
        "[",
        "]",
        ";",
        "'",
        "`",
        "{",
        "}",
        ":",
        "?",
        "->",
        "||",
        "::",
        "/*",
        "*/",
        "--",
        "$",
        "@",
        "#",
        "%",
        "^",
        "&",
        "~",
        "!",
        "<=>",
        "1e999",
        "0x1F",
        "window",
        "sum(v)",
    ],
    *(
        "TUMBLE(",
        "HOP(",
        "SESSION(",
        "CUMULATE(",
        "ROW_NUMBER()",
        "LATEST",
        "9" * 25,
        "\x00",
        "\U0001f600",
        "é",
    ),
    *("GROUP BY", "ORDER BY", "PARTITION BY", "GROUPING SETS", "(" * 120, "- " * 300),
)


def mutated(seed: int) -> str:
    """Returns a text in which tokens are missing, twice, exchanged, of another text, or cut."""
    random = Random(seed)
    sql = random.choice(TEXTS)
    pieces = [sql[token.start : token.end + 1] for token in tokens_of(sql)]
    for _ in range(random.randint(1, 4)):
        place, kind = random.randrange(len(pieces)), random.randrange(8)
        if kind == 0 and len(pieces) > 1:
            del pieces[place]
        elif kind in (1, 2):
            pieces.insert(place, random.choice(WORDS))
        elif kind == 3:
            pieces[place] = random.choice(pieces)
        elif kind == 4:
            other = random.choice(TEXTS)
            cut = random.randrange(len(other))
            pieces.insert(place, other[cut : cut + random.randrange(40)])
        elif kind == 5:
            pieces[place] = pieces[place][: random.randrange(len(pieces[place]) + 1)] or " "
        elif kind == 6:
            end = random.randrange(place, len(pieces)) + 1
            pieces[place:end] = pieces[place:end] * random.randint(2, 5)
        else:
            pieces = pieces[: place + 1]
    return random.choice((" ", " ", "\n")).join(pieces)


def seconds_of(sql: str) -> float:
    """Returns the processor time that a text takes; an error that is not ours fails the test."""
    begin = time.process_time()
    problem: Exception | None = None
    try:
        compile_sql(sql)
    except Exception as error:
        problem = error
    seconds = time.process_time() - begin
    assert problem is None or isinstance(problem, SqlError), f"{problem!r} of {sql!r}"
    assert problem is None or all((problem.given, problem.rule, problem.remedy, str(problem), problem.line))
    return seconds


def limit_of(sql: str) -> float:
    return LIMIT * max(1, len(sql) / 500)


def is_quick(sql: str) -> bool:
    """Returns whether a text takes no longer than it may, on a machine that may be slow at the moment."""
    return any(seconds_of(sql) <= limit_of(sql) * slowness() for _ in range(9))


def slowness() -> float:
    """Returns how many times longer than on an idle machine a sum takes at the moment, 1 at least."""
    begin = time.process_time()
    sum(number * number for number in range(20_000))
    return max(1.0, (time.process_time() - begin) / 0.0005)


@pytest.mark.parametrize(("first", "count"), [(0, 2_000), nightly((100_000, 20_000))], ids=["few", "many"])
def test_a_mutated_text_gives_stages_or_our_error_in_5_ms(first: int, count: int) -> None:
    """semantics 46.13, 46.61"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        for seed in range(first, first + count):
            sql = mutated(seed)
            if seconds_of(sql) > limit_of(sql):  # the machine may have done something else
                assert is_quick(sql), (seed, sql)


@given(st.text(max_size=40))
@examples(200)
def test_any_text_gives_stages_or_our_error(text: str) -> None:
    """semantics 46.13"""
    seconds_of(text)


def test_a_text_compiles_in_5_ms() -> None:
    """semantics 46.61"""
    for sql in TEXTS:
        assert is_quick(sql), sql


@pytest.mark.parametrize("sql", ["SELECT k FROM t GROUP BY window(ts, '1 hour')", "SELECT ((("])
def test_compiling_changes_nothing_of_the_process(sql: str) -> None:
    """semantics 46.61"""
    before = sys.getrecursionlimit(), gc.isenabled()
    seconds_of(sql)
    assert (sys.getrecursionlimit(), gc.isenabled()) == before
    gc.disable()
    try:
        seconds_of(sql)
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "inner", ["{open}v{close}", "{calls}v{close}", "{cases}v{ends}", "{casts}v{types}", "{brackets}v{closed}"]
)
def test_the_limit_of_nesting(inner: str) -> None:
    """semantics 46.60"""

    def text(depth: int) -> str:
        nested = inner.format(
            open="(" * depth,
            close=")" * depth,
            calls="f(" * depth,
            cases="CASE WHEN a THEN " * depth,
            ends=" END" * depth,
            casts="CAST(" * depth,
            types=" AS INT)" * depth,
            brackets="[" * depth,
            closed="]" * depth,
        )
        return f"SELECT max({nested}) AS m FROM t GROUP BY window(ts, '1 hour')"

    assert compile_sql(text(90)).last is not None
    with pytest.raises(SqlError, match="nested at most 100 deep"):
        compile_sql(text(110))


def test_a_stack_that_is_too_small() -> None:
    """semantics 46.60"""
    with pytest.raises(SqlError, match="nested at most 100 deep"):
        compile_sql(f"SELECT max({'- ' * 20_000}v) AS m FROM t GROUP BY window(ts, '1 hour')")
    with pytest.raises(SqlError, match="queries are nested at most 60 deep"):
        compile_sql("SELECT * FROM (" * 70)


def test_the_limit_of_sets() -> None:
    """semantics 46.75"""
    names = ", ".join(f"c{number}" for number in range(11))
    pairs = ", ".join(f"CUBE (a{number}, b{number})" for number in range(6))
    for group in (f"CUBE ({names})", pairs, f"GROUPING SETS (CUBE ({names}))"):
        with pytest.raises(SqlError, match="at most 1,024 times"):
            compile_sql(f"SELECT count(*) AS n FROM t GROUP BY window(ts, '1 hour'), {group}")


@pytest.mark.parametrize("sign", ["-", "+", "~", "NOT"])
def test_many_signs_are_refused_quickly(sign: str) -> None:
    """semantics 46.60, 46.61: sqlglot takes time that grows with the square of their number."""
    text = f"SELECT k FROM t WHERE v > INTERVAL {' '.join([sign] * 150)} 1 MINUTE"
    with pytest.raises(SqlError, match="nested at most 100 deep"):
        compile_sql(text)
    assert is_quick(text)
