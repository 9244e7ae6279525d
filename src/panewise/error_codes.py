"""The codes of the rules that errors print, such as PW-WINDOW-001. A code never changes its meaning.

The table error_codes.json has each rule as a template, with `{}` for what is known only when it is broken. It
is read when the first error is printed. `make names` adds new rules to it (decision 0077).
"""

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

__all__ = ["ErrorCode", "error_codes", "explanation"]

HOLE: Final = "{}"
_FILE: Final = "error_codes.json"
_ARTICLES: Final = ("a ", "an ", "the ")


@dataclass(frozen=True)
class ErrorCode:
    """A rule of panewise, with its code.

    >>> error_codes()["PW-TIME-002"].rule
    'a duration fits in 64 bits'

    Attributes:
        code: the code, such as "PW-WINDOW-001".
        rule: the rule, with `{}` for names and values.
        given: what is typically given when the rule is broken, with names in braces.
        remedy: what to do.
        errors: the classes of errors and warnings that say it.
        source: the module that has the rule.
        removed: whether the rule no longer exists, but was in a release. Its code is not used again.
    """

    code: str
    rule: str
    given: str = ""
    remedy: str = ""
    errors: tuple[str, ...] = ()
    source: str = ""
    removed: bool = False

    def matches(self, rule: str) -> bool:
        """Returns whether a rule is this one, with its holes filled."""
        first, *others = self.rule.split(HOLE)
        if not first and rule.startswith(_ARTICLES):
            return False  # a hole at the beginning is for a name
        if not others:
            return rule == first
        if len(rule) < len(first) + len(others[-1]) or not rule.startswith(first):
            return False
        if not rule.endswith(others[-1]):
            return False
        at, end = len(first), len(rule) - len(others[-1])
        for part in others[:-1]:
            place = rule.find(part, at, end)
            if place < 0:
                return False
            at = place + len(part)
        return True


@cache
def error_codes() -> Mapping[str, ErrorCode]:
    """Returns all codes, also those of releases whose rules are removed.

    >>> sorted({code.split("-")[1] for code in error_codes()})[:3]
    ['AGG', 'CHAIN', 'DATA']
    """
    text = pkgutil.get_data("panewise", _FILE)  # from a zip file, too
    assert text is not None, f"{_FILE} is a part of panewise"
    return {
        code: ErrorCode(code, **{**entry, "errors": tuple(entry.get("errors", ()))})
        for code, entry in json.loads(text).items()
    }


@lru_cache(maxsize=1024)
def code_of(rule: str) -> str | None:
    """Returns the code of a rule; None if it is not one of panewise, such as that of another package.

    Several rules that are joined have the code of the first.

    >>> code_of("size is above zero") == code_of("hop is above zero")
    True
    >>> code_of("a rule of another package") is None
    True
    """
    parts = rule.split("; ")
    texts = ["; ".join(parts[:count]) for count in range(len(parts), 0, -1)]
    codes = (_code_of_rule(text) for text in texts)
    return next((code for code in codes if code is not None), None)


def _code_of_rule(rule: str) -> str | None:
    exact, templates = _by_rule()
    return exact.get(rule) or next((entry.code for entry in templates if entry.matches(rule)), None)


@cache
def _by_rule() -> tuple[Mapping[str, str], tuple[ErrorCode, ...]]:
    """Returns the codes of rules without holes, and the others: those that say most first."""
    used = [entry for entry in error_codes().values() if not entry.removed]
    exact = {entry.rule: entry.code for entry in used if HOLE not in entry.rule}
    templates = (entry for entry in used if HOLE in entry.rule)
    return exact, tuple(sorted(templates, key=lambda entry: -len(entry.rule.replace(HOLE, ""))))


def explanation(code: str) -> str:
    """Returns what a code means: the rule, what is typically given, and the remedy.

    Args:
        code: a code such as "PW-WINDOW-001", in any case, with or without brackets.

    Raises:
        KeyError: if there is no such code.

    >>> print(explanation("pw-time-002"))
    PW-TIME-002: a duration fits in 64 bits
      given: us={us}
      remedy: give a shorter duration
      raised as: SpecError
      rule in: panewise/chrono.py
    """
    entry = error_codes()[code.strip().strip("[]").upper()]
    lines = [f"{entry.code}: {entry.rule.replace(HOLE, '...')}"]
    if entry.removed:
        lines.append("removed: no error has this rule any more")
    details = {
        "given": entry.given,
        "remedy": entry.remedy,
        "raised as": ", ".join(entry.errors),
        "rule in": entry.source and f"panewise/{entry.source}",
    }
    lines += [f"  {name}: {text}" for name, text in details.items() if text]
    return "\n".join(lines)
