"""The rules of all errors in the sources, with what is given, the remedy, and where they are raised."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from tools.possible_texts import HOLE, Texts
from tools.program import Function, Place, last_name, parameters, program

# Bases that have no rule of panewise.
_OTHER: Final = ("QueryError", "StatementError")
# Makes the text of a warning.
EXPLAIN: Final = "explain"


@dataclass(frozen=True)
class RaisedRule:
    """A rule as a call makes it: templates with `{}` for what is known only when it is raised."""

    error: str
    given: str
    rule: str
    remedy: str
    path: str
    line: int


def kinds() -> frozenset[str]:
    """Returns the names of the classes of errors."""
    names = {"PanewiseError"}
    bases = program().bases
    while more := {name for name in bases if bases[name] & names} - names:
        names |= more
    return frozenset(names.difference(_OTHER))


@cache
def raised_rules() -> tuple[RaisedRule, ...]:
    """Returns the rules of all calls that make an error or the text of a warning, sorted by their place."""
    sources, texts = program(), Texts(program())
    rules = {
        rule
        for kind in (*sorted(kinds()), EXPLAIN)  # in a fixed order, as texts remember what they follow
        for call in sources.calls[kind]
        if call.module.path != "errors.py"
        for rule in _rules_of(texts, call, kind)
        if _says_something(rule.rule)
    }
    return tuple(
        sorted(rules, key=lambda rule: (rule.path, rule.line, rule.rule, rule.error, rule.given, rule.remedy))
    )


def _rules_of(texts: Texts, call: Place, kind: str) -> Iterator[RaisedRule]:
    assert isinstance(call.node, ast.Call)
    if kind == EXPLAIN and not isinstance(call.node.func, ast.Name):
        return
    for parts in _parts(texts, call):
        for end in texts.ends(parts.rule):
            for text in texts.texts(end):
                own = parts.beside(end)
                place = end if end.module.path else parts.rule
                line = getattr(place.node, "lineno", 0)
                given = _shown(texts, own.given) or _shown(texts, parts.given)
                remedy = _shown(texts, own.remedy) or _shown(texts, parts.remedy)
                yield RaisedRule(kind, given, text, remedy, place.module.path, line)


@dataclass(frozen=True)
class Parts:
    """The expressions of the three parts of a message."""

    given: Place
    rule: Place
    remedy: Place

    def beside(self, rule: Place) -> "Parts":
        """Returns the parts that stand beside a rule in a tuple such as `rule, remedy = RULES[name]`."""
        around = rule.module.parents.get(rule.node)
        if not isinstance(around, ast.Tuple) or isinstance(self.rule.node, ast.Constant):
            return self
        index = around.elts.index(rule.node)
        given = Place(rule.module, around.elts[index - 1]) if index == 1 else self.given
        after = around.elts[index + 1 : index + 2]
        return Parts(given, rule, Place(rule.module, after[0]) if after else self.remedy)


def _parts(texts: Texts, call: Place) -> Iterator[Parts]:
    """Yields what the three arguments of a call can be: single ones, and tuples as in `*problem`."""
    assert isinstance(call.node, ast.Call)
    arguments = call.node.args
    starred = arguments[-1:] if arguments and isinstance(arguments[-1], ast.Starred) else []
    single = [Place(call.module, argument) for argument in arguments[: len(arguments) - len(starred)]]
    if not starred:
        if len(single) == 3:
            yield from _of_callers(texts, Parts(*single))
        return
    for end in texts.ends(Place(call.module, starred[0])):
        if isinstance(end.node, ast.Tuple) and len(single) + len(end.node.elts) == 3:
            yield Parts(*single, *(Place(end.module, part) for part in end.node.elts))


def _of_callers(texts: Texts, parts: Parts, depth: int = 0) -> Iterator[Parts]:
    """Yields the parts that the callers of a function pass to it, if the rule is one of its parameters."""
    node, module = parts.rule.node, parts.rule.module
    function = module.function_around(node)
    named = isinstance(function, Function) and isinstance(node, ast.Name) and node.id in parameters(function)
    if not named or depth > 4:
        yield parts
        return
    assert isinstance(function, Function)
    for call, bound in texts.program.calls_of(Place(module, function)):
        for arguments in texts.arguments(call, function, bound):
            passed = (_passed(arguments, part) for part in (parts.given, parts.rule, parts.remedy))
            yield from _of_callers(texts, Parts(*passed), depth + 1)


def _passed(arguments: Mapping[str, Place], part: Place) -> Place:
    """Returns what a call passes as a part: a parameter, or a template as in `remedy.format(name=name)`."""
    node = part.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        node = node.func.value
    return arguments.get(node.id, part) if isinstance(node, ast.Name) else part


def _shown(texts: Texts, place: Place) -> str:
    """Returns a part of a message as a text, with the names of what is in its holes."""
    for end in texts.local(place):
        if isinstance(end.node, ast.Constant) and isinstance(end.node.value, str):
            return end.node.value
        if isinstance(end.node, ast.JoinedStr):
            return re.sub(r"\{(before|after)\}", "", "".join(map(_piece, end.node.values)))
    known = (text for text in texts.of(place) if _says_something(text))
    return next(known, "").replace(HOLE, "{...}")


def _piece(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    value = part.value if isinstance(part, ast.FormattedValue) else part
    return f"{{{last_name(value) or '...'}}}"


def _says_something(text: str) -> bool:
    return bool(text.replace(HOLE, "").strip())


def unknown_rules() -> Iterator[str]:
    """Yields the places of calls whose rule is not known, or which have other than three parts."""
    sources, texts = program(), Texts(program())
    for kind in sorted(kinds()):
        for call in sources.calls[kind]:
            rules = [texts.of(parts.rule) for parts in _parts(texts, call)]
            if not rules or any(rule and not any(map(_says_something, rule)) for rule in rules):
                yield f"{call.module.path}:{getattr(call.node, 'lineno', 0)}"
