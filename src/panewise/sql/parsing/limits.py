"""How deep a text may be nested, and what a process lends to its compilation (semantics 46.60, 46.61)."""

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Final

from sqlglot import Token, TokenType

from panewise.errors import SqlError
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.parsing.written_text import Origin

MAX_NESTING: Final = 100
# A parenthesis takes about 30 calls of the parser, a CASE about 40. Python's own limit of 1,000 calls would
# end at 25 parentheses.
_CALLS: Final = 6_000
_OPENING: Final = {TokenType.L_PAREN: 1, TokenType.L_BRACKET: 1, TokenType.L_BRACE: 1, TokenType.CASE: 1}
_CLOSING: Final = {TokenType.R_PAREN: 1, TokenType.R_BRACKET: 1, TokenType.R_BRACE: 1, TokenType.END: 1}
_PREFIXES: Final = frozenset({TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.NOT})


def check_nesting(origin: Origin, tokens: Sequence[Token]) -> None:
    """Refuses a text whose parentheses, brackets, CASE, NOT and signs are nested too deep.

    Raises:
        SqlError: at the first one that is too deep.
    """
    depth = prefixes = 0
    for token in tokens:
        depth = max(0, depth + _OPENING.get(token.token_type, 0) - _CLOSING.get(token.token_type, 0))
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        if depth + prefixes > MAX_NESTING:
            raise too_deep(origin, TextSpan(token.start, token.end + 1))


def too_deep(origin: Origin, span: TextSpan) -> SqlError:
    """Returns the error of a text that is nested too deep, at these characters."""
    rule = f"parentheses, brackets, CASE, NOT and signs are nested at most {MAX_NESTING} deep"
    remedy = "compute the inner part in a query of WITH"
    return origin.fail("a nested expression", rule, remedy, span)


class _Lent:
    """The limit of calls, and the collection of garbage, which all threads of a process share.

    The first thread that compiles changes them, and the last one restores them.
    """

    def __init__(self) -> None:
        self.lock, self.threads, self.limit, self.collects = Lock(), 0, 0, False

    def take(self) -> None:
        with self.lock:
            if self.threads == 0:
                self.limit, self.collects = sys.getrecursionlimit(), gc.isenabled()
                sys.setrecursionlimit(max(self.limit, _CALLS))
                gc.disable()
            self.threads += 1

    def give_back(self) -> None:
        with self.lock:
            self.threads -= 1
            if self.threads == 0:
                sys.setrecursionlimit(self.limit)
                if self.collects:
                    gc.enable()


_LENT: Final = _Lent()


@contextmanager
def compiling() -> Iterator[None]:
    """Lends the stack that a nested text needs, and collects garbage after the text only.

    A syntax tree is made of cycles. So a text of 1 ms sometimes started a collection of all objects of the
    process, which takes 40 ms and more where Spark and Polars are loaded. It comes after the text now.
    """
    _LENT.take()
    try:
        yield
    finally:
        _LENT.give_back()
