"""What texts an expression can be: constants, and templates of f-strings with `{}` for each hole.

An expression is followed to where its value comes from: variables, arguments of all calls, results of
functions, elements of tuples and dicts. This is approximate: conditions are not looked at.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tools.program import FUNCTIONS, Function, Module, Place, Program, defaults, last_name, parameters

UNKNOWN: Final = Place(Module("", "", ast.Module([], [])), ast.Constant(...))
# Attributes of an error, which come from an error that has its own place.
PASSED_ON: Final = ("given", "rule", "remedy")
MOST_VALUES: Final = 400
MOST_FILLINGS: Final = 12
MANY_FILLINGS: Final = 80  # of a template that says little without them
# An argument with so many values is that of several functions or classes.
MANY_VALUES: Final = 12
DEEPEST: Final = 300  # no path is so long: one that was cut would lose rules
# A step of a path takes a dozen nested calls.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 20 * DEEPEST))
HOLE: Final = "{}"
_SEQUENCES: Final = (ast.Tuple, ast.List, ast.Set)
_COMPREHENSIONS: Final = (ast.GeneratorExp, ast.ListComp, ast.SetComp)
Places = list[Place]


def _words(text: str) -> int:
    return len(text.replace(HOLE, " ").split())


@dataclass
class Texts:
    """The texts of expressions in a program. What was followed once is remembered."""

    program: Program

    def __post_init__(self) -> None:
        self._followed: dict[tuple[Any, ...], Places] = {}
        self._templates: dict[ast.AST, list[str]] = {}
        self._depth = 0
        self._kept: list[ast.AST] = []

    def of(self, place: Place) -> list[str]:
        """Returns the texts that an expression can be, each once; `{}` alone for one that is not known."""
        texts = (text for end in self.ends(place) for text in self.texts(end))
        return list(dict.fromkeys(texts))

    def ends(self, place: Place) -> Places:
        """Returns where the value of an expression comes from."""
        return self._once("ends", place, lambda: self._ends(place))

    def local(self, place: Place) -> Places:
        """Returns the values of a variable of the same function, or the expression itself."""
        node, function = place.node, place.module.function_around(place.node)
        values = self._assigned(place.module, function, node.id, node) if isinstance(node, ast.Name) else None
        return [place] if values is None else values

    def elements(self, place: Place) -> Places:
        """Returns where the elements of an iterable come from."""
        return self._once("elements", place, lambda: [*self._elements(place)])

    def _once(self, kind: str, place: Place, follow: Callable[[], Places], *more: str) -> Places:
        key = (kind, place.node, *more)
        if key not in self._followed and self._depth < DEEPEST:
            self._kept.append(place.node)
            self._followed[key] = []  # an expression that leads to itself adds nothing
            self._depth += 1
            unique = {end.node: end for end in follow()}
            self._depth -= 1
            self._followed[key] = [*unique.values()][:MOST_VALUES]
        return self._followed.get(key, [])

    # Texts

    def texts(self, end: Place) -> list[str]:
        """Returns the texts of what an expression ends at."""
        if end.node not in self._templates:
            self._templates[end.node] = [HOLE]
            self._kept.append(end.node)
            self._templates[end.node] = self._templates_of(end)
        return self._templates[end.node]

    def _templates_of(self, end: Place) -> list[str]:
        node = end.node
        if isinstance(node, ast.Constant):
            return [node.value if isinstance(node.value, str) else HOLE]
        if isinstance(node, ast.JoinedStr):
            return self._filled(end.module, node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = [self.of(Place(end.module, side)) for side in (node.left, node.right)]
            return [left + right for left in parts[0] for right in parts[1]]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._of_method(end.module, node, node.func)
        return [HOLE]

    def _of_method(self, module: Module, call: ast.Call, method: ast.Attribute) -> list[str]:
        owner = Place(module, method.value)
        if method.attr == "format":
            return [re.sub(r"\{[^}]*\}", HOLE, text) for text in self.of(owner)]
        if method.attr == "join" and self.of(owner) == ["; "]:
            parts = self.elements(Place(module, call.args[0]))
            return [text for part in parts for text in self.texts(part)]
        return [HOLE]

    def _filled(self, module: Module, node: ast.JoinedStr) -> list[str]:
        """Returns the templates of an f-string. Holes are filled with the sentences that they can be."""
        literal = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        telling = _words(literal) > 2
        least, most = (3, MOST_FILLINGS) if telling else (2, MANY_FILLINGS)
        templates = [""]
        for part in node.values:
            if isinstance(part, ast.Constant):
                fillings = [part.value]
            else:
                assert isinstance(part, ast.FormattedValue)
                fillings = self._fillings(module, part, least, most)
            templates = [template + filling for template in templates for filling in fillings]
        return templates

    def _fillings(self, module: Module, part: ast.FormattedValue, least: int, most: int) -> list[str]:
        if part.conversion != -1 or part.format_spec is not None:
            return [HOLE]
        texts = self.of(Place(module, part.value))
        known = texts and all(_words(text) >= least for text in texts)
        return texts if known and len(texts) <= most else [HOLE]

    # Expressions

    def _ends(self, place: Place) -> Places:
        node = place.node
        follow = self._followers.get(type(node))
        if follow is not None:
            return follow(place.module, node)
        return [] if isinstance(node, ast.Constant) and node.value is None else [place]

    @cached_property
    def _followers(self) -> dict[type[ast.AST], Callable[[Module, Any], Places]]:
        def all_of(module: Module, nodes: Iterable[ast.AST]) -> Places:
            return [end for node in nodes for end in self.ends(Place(module, node))]

        return {
            ast.IfExp: lambda module, node: all_of(module, (node.body, node.orelse)),
            ast.BoolOp: lambda module, node: all_of(module, node.values),
            ast.NamedExpr: lambda module, node: all_of(module, [node.value]),
            ast.Starred: lambda module, node: all_of(module, [node.value]),
            ast.Name: self._name,
            ast.Subscript: self._subscript,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
        }

    def _subscript(self, module: Module, node: ast.Subscript) -> Places:
        if isinstance(node.slice, ast.Slice):
            return [UNKNOWN]  # a part of a text or a list
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        ends: Places = []
        for owner in self.ends(Place(module, node.value)):
            if _is_dict(owner):
                ends += [end for value in self._values(owner, key) for end in self.ends(value)]
            elif isinstance(owner.node, ast.Tuple | ast.List) and isinstance(key, int):
                ends += [end for part in owner.node.elts[key : key + 1] for end in self._end(owner, part)]
            else:
                ends.append(UNKNOWN)
        return ends

    def _end(self, owner: Place, node: ast.AST) -> Places:
        return self.ends(Place(owner.module, node))

    def _attribute(self, module: Module, node: ast.Attribute) -> Places:
        if isinstance(node.value, ast.Name) and node.value.id in module.imports:
            whole = ".".join(module.imports[node.value.id])
            if whole in self.program.modules:
                return self._of_module(self.program.modules[whole], node.attr)
        if node.attr in PASSED_ON:
            return []
        own = node.attr.isupper() or last_name(node.value) == "self"
        values = self.program.class_values[node.attr] if own else []
        passed = self.program.keywords[node.attr]  # a field of a dataclass
        values = [*values, *(passed if len(passed) < MANY_VALUES else [])]
        return [end for value in values for end in self.ends(value)] or [UNKNOWN]

    def _call(self, module: Module, node: ast.Call) -> Places:
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in ("get", "pop") and node.args:
            dicts = [owner for owner in self.ends(Place(module, called.value)) if _is_dict(owner)]
            ends = [end for owner in dicts for value in self._values(owner) for end in self.ends(value)]
            ends += [end for other in node.args[1:] for end in self.ends(Place(module, other))]
            if ends:
                return ends
        if isinstance(called, ast.Name) and called.id == "next":
            return self.elements(Place(module, node.args[0]))
        targets = self.program.targets(module, called)
        if targets:
            return [end for target in targets for end in self._results(target)]
        if last_name(called) == "MappingProxyType":
            return self.ends(Place(module, node.args[0]))
        functions = self.ends(Place(module, called)) if isinstance(called, ast.Name) else []
        results = [end for function in functions for end in self._results(function)]
        if results:
            return results
        made = last_name(called) in self.program.bases
        kept = isinstance(called, ast.Attribute) and called.attr in ("format", "join", "fromkeys")
        return [Place(module, node)] if made or kept else [UNKNOWN]

    def _results(self, place: Place) -> Places:
        def follow() -> Iterator[Place]:
            if isinstance(place.node, ast.Lambda):
                yield from self.ends(Place(place.module, place.node.body))
            if not isinstance(place.node, FUNCTIONS):
                return
            for node in self.program.nodes_of(place.module, place.node):
                if isinstance(node, ast.Return) and node.value is not None:
                    yield from self.ends(Place(place.module, node.value))

        return self._once("results", place, lambda: [*follow()])

    def _yielded(self, place: Place) -> Iterator[Place]:
        for node in self.program.nodes_of(place.module, place.node):
            if isinstance(node, ast.Yield) and node.value is not None:
                yield from self.ends(Place(place.module, node.value))
            elif isinstance(node, ast.YieldFrom | ast.Return) and node.value is not None:
                yield from self.elements(Place(place.module, node.value))

    # Elements

    def _elements(self, place: Place) -> Iterator[Place]:
        node, module = place.node, place.module
        if isinstance(node, _COMPREHENSIONS):
            yield from self.ends(Place(module, node.elt))
        elif isinstance(node, ast.Call):
            yield from self._elements_of_call(module, node)
        else:
            ends = [place] if isinstance(node, _SEQUENCES) else self.ends(place)
            for end in ends:
                yield from self._parts(end)

    def _parts(self, end: Place) -> Iterator[Place]:
        if isinstance(end.node, _SEQUENCES):
            for part in end.node.elts:
                inner = Place(end.module, part.value if isinstance(part, ast.Starred) else part)
                yield from self.elements(inner) if isinstance(part, ast.Starred) else self.ends(inner)
        elif isinstance(end.node, _COMPREHENSIONS):
            yield from self.ends(Place(end.module, end.node.elt))
        elif not _is_dict(end):
            yield UNKNOWN

    def _elements_of_call(self, module: Module, node: ast.Call) -> Iterator[Place]:
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in ("items", "values", "keys"):
            owners = self.ends(Place(module, called.value))
            for owner in (owner for owner in owners if _is_dict(owner)):
                for entry in self._entries(owner) if called.attr == "items" else self._values(owner):
                    yield from self.ends(entry)
        elif last_name(called) in ("filter", "list", "tuple", "sorted", "fromkeys"):
            for argument in node.args:
                yield from self.elements(Place(module, argument))
        else:
            for target in self.program.targets(module, called):
                yield from self._once("yielded", target, lambda target=target: [*self._yielded(target)])

    def _values(self, owner: Place, key: object = None) -> Iterator[Place]:
        """Yields the values of a dict, or those of a key."""
        for own, value in self._pairs(owner):
            if key is None or not isinstance(own, ast.Constant) or own.value == key:
                yield value

    def _entries(self, owner: Place) -> Iterator[Place]:
        for key, value in self._pairs(owner):
            yield Place(value.module, ast.Tuple([ast.Constant(...) if key is None else key, value.node]))

    def _pairs(self, owner: Place) -> Iterator[tuple[ast.expr | None, Place]]:
        for part in self._once("dicts", owner, lambda: [*self._dicts(owner)]):
            node, module = part.node, part.module
            if isinstance(node, ast.DictComp):
                yield node.key, Place(module, node.value)
            elif isinstance(node, ast.Call):
                yield None, Place(module, node.args[1])
            elif isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                yield from ((key, Place(module, value)) for key, value in pairs if key is not None)

    def _dicts(self, owner: Place) -> Iterator[Place]:
        """Yields a dict, and those that are spread in it with `**`."""
        yield owner
        if isinstance(owner.node, ast.Dict):
            for key, value in zip(owner.node.keys, owner.node.values, strict=True):
                spread = self.ends(Place(owner.module, value)) if key is None else []
                for end in filter(_is_dict, spread):
                    yield from self._once("dicts", end, lambda end=end: [*self._dicts(end)])

    # Names

    def _name(self, module: Module, node: ast.Name) -> Places:
        function = module.function_around(node)
        while function is not None:
            values = self._assigned(module, function, node.id, node)
            if isinstance(function, FUNCTIONS):
                arguments = function.args
                named = {*parameters(function), *(argument.arg for argument in arguments.kwonlyargs)}
                if node.id in named:
                    return [*(values or []), *self._arguments(Place(module, function), node.id)]
                if arguments.vararg is not None and arguments.vararg.arg == node.id:
                    return self._rest(Place(module, function))
            if values is not None:
                return values
            nested = self._functions(module, function, node.id)
            if nested:
                return nested
            function = module.function_around(function)
        return self._of_module(module, node.id)

    def _of_module(self, module: Module, name: str) -> Places:
        if name in module.imports and module.imports[name][0] in self.program.modules:
            origin, imported = module.imports[name]
            return self._of_module(self.program.modules[origin], imported)
        values = self._assigned(module, None, name)
        return values or self._functions(module, None, name) or [UNKNOWN]

    def _functions(self, module: Module, around: ast.AST | None, name: str) -> Places:
        """Returns the functions of a name that are defined in a function, or in the module."""
        places = (place for place in self.program.functions[name] if place.module is module)
        return [
            place
            for place in places
            if module.function_around(place.node) is around and module.class_of(place.node) is None
        ]

    def _assigned(
        self, module: Module, function: ast.AST | None, name: str, use: ast.AST | None = None
    ) -> Places | None:
        """Returns the values that a variable may have, None if it is no variable there."""
        bound = [
            (node, values)
            for node in self.program.bindings(module, function).get(name, ())
            if (values := self._bound(module, node, name)) is not None
        ]
        last = _last_before(module, [node for node, _ in bound], use)
        kept = [values for node, values in bound if last is None or last <= _line(node) <= _line(use)]
        return [value for values in kept for value in values] if bound else None

    def _bound(self, module: Module, node: ast.AST, name: str) -> Places | None:
        if isinstance(node, ast.Assign):
            targets = [target for target in node.targets if _stores(target, name)]
            return self._unpacked(targets[0], self.ends(Place(module, node.value)), name) if targets else None
        if isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            return self.ends(Place(module, node.value)) if last_name(node.target) == name else None
        if isinstance(node, ast.For | ast.comprehension) and _stores(node.target, name):
            return self._unpacked(node.target, self.elements(Place(module, node.iter)), name)
        if isinstance(node, ast.ExceptHandler) and node.name == name:
            return [UNKNOWN]
        return None

    def _unpacked(self, target: ast.AST, values: Places, name: str) -> Places:
        """Returns the values of a name in a target such as `a, (b, c)`."""
        if not isinstance(target, ast.Tuple | ast.List):
            return values
        index = next(index for index, part in enumerate(target.elts) if _stores(part, name))
        return self._unpacked(
            target.elts[index], [end for value in values for end in self.part(value, index)], name
        )

    def part(self, value: Place, index: int) -> Places:
        """Returns where the part of a tuple with this index comes from."""
        if not isinstance(value.node, ast.Tuple | ast.List):
            return [] if isinstance(value.node, ast.Call) else [UNKNOWN]
        parts = [*self._spread(value)]
        return self.ends(parts[index]) if index < len(parts) else []

    def _spread(self, value: Place, around: frozenset[ast.AST] = frozenset()) -> Iterator[Place]:
        """Yields the parts of a tuple. A tuple that extends one of its own kind, `around`, is spread once."""
        assert isinstance(value.node, ast.Tuple | ast.List)
        around |= {value.node}
        for part in value.node.elts:
            inner = self.ends(Place(value.module, part)) if isinstance(part, ast.Starred) else []
            tuples = [end for end in inner if isinstance(end.node, ast.Tuple) and end.node not in around]
            if tuples:
                yield from self._spread(tuples[0], around)
            elif not isinstance(part, ast.Starred):
                yield Place(value.module, part)

    # Arguments

    def _arguments(self, function: Place, name: str) -> Places:
        return self._once("arguments", function, lambda: [*self._passed(function, name)], name)

    def _passed(self, function: Place, name: str) -> Iterator[Place]:
        assert isinstance(function.node, Function)
        names = parameters(function.node)
        calls = [*self.program.calls_of(function)]
        for call, bound in calls:
            assert isinstance(call.node, ast.Call)
            index = names.index(name) - bound if name in names else None
            values = self._passed_by(call, index, name)
            if values is None and name in defaults(function.node):
                values = self.ends(Place(function.module, defaults(function.node)[name]))
            yield from values or []
        if not calls:
            yield UNKNOWN

    def _passed_by(self, call: Place, index: int | None, name: str) -> Places | None:
        assert isinstance(call.node, ast.Call)
        for keyword in call.node.keywords:
            if keyword.arg == name:
                return self.ends(Place(call.module, keyword.value))
        if index is None:
            return None
        for number, argument in enumerate(call.node.args[: index + 1]):
            if isinstance(argument, ast.Starred):
                rest = self.ends(Place(call.module, argument))
                tuples = [end for end in rest if isinstance(end.node, ast.Tuple)]
                return [end for value in tuples for end in self.part(value, index - number)] or [UNKNOWN]
        arguments = call.node.args[index : index + 1]
        return self.ends(Place(call.module, arguments[0])) if arguments else None

    def arguments(self, call: Place, function: Function, bound: int) -> Iterator[dict[str, Place]]:
        """Yields what a call passes to the parameters of a function, for each tuple of its `*arguments`."""
        assert isinstance(call.node, ast.Call)
        by_name = {keyword.arg or "": Place(call.module, keyword.value) for keyword in call.node.keywords}
        for passed in self._passed_by_place(call, call.node.args):
            yield by_name | dict(zip(parameters(function)[bound:], passed, strict=False))

    def _passed_by_place(self, call: Place, arguments: list[ast.expr]) -> Iterator[Places]:
        if not arguments:
            yield []
            return
        first = Place(call.module, arguments[0])
        heads = [[first]]
        if isinstance(first.node, ast.Starred):
            heads = [[*self._spread(end)] for end in self.ends(first) if isinstance(end.node, ast.Tuple)]
        for rest in self._passed_by_place(call, arguments[1:]):
            yield from ([*head, *rest] for head in heads)

    def _rest(self, function: Place) -> Places:
        """Returns the tuples that `*rest` can be."""
        assert isinstance(function.node, Function)
        first = len(parameters(function.node))
        rests: Places = []
        for call, bound in self.program.calls_of(function):
            assert isinstance(call.node, ast.Call)
            arguments = call.node.args[first - bound :]
            rests.append(Place(call.module, ast.Tuple(arguments)))
        return rests


def _line(node: ast.AST | None) -> int:
    return getattr(node, "lineno", 0)


def _last_before(module: Module, bindings: list[ast.AST], use: ast.AST | None) -> int | None:
    """Returns the line of the last assignment that each way to a use of the variable passes, or None."""
    if use is None:
        return None
    line, around = _line(use), {use}
    while use in module.parents:
        use = module.parents[use]
        around.add(use)
    before = [
        _line(node)
        for node in bindings
        if isinstance(node, ast.Assign) and _line(node) < line and _beside(module, node) & around
    ]
    return max(before, default=None)


def _beside(module: Module, statement: ast.AST) -> set[ast.AST]:
    """Returns the statements behind one in its block."""
    parent = module.parents[statement]
    blocks = (block for _, block in ast.iter_fields(parent) if isinstance(block, list) and statement in block)
    return {other for block in blocks for other in block[block.index(statement) + 1 :]}


def _stores(target: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(target))


def _is_dict(owner: Place) -> bool:
    """Returns whether an expression is a dict: a display, a comprehension, or `dict.fromkeys(...)`."""
    node = owner.node
    return isinstance(node, ast.Dict | ast.DictComp) or isinstance(node, ast.Call) and _of_keys(node)


def _of_keys(node: ast.Call) -> bool:
    return last_name(node.func) == "fromkeys" and len(node.args) == 2
