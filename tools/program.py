"""The sources of panewise as trees: modules, functions, classes and calls, and what their names refer to."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

SRC: Final = Path(__file__).resolve().parents[1] / "src" / "panewise"
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES: Final = (*FUNCTIONS, ast.Lambda)
_CONTEXTS: Final = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
Function = ast.FunctionDef | ast.AsyncFunctionDef
# A method of so many classes says nothing of what it returns.
MANY_METHODS: Final = 30


@dataclass(eq=False)
class Module:
    """A module with its tree, the parents of its nodes, and the names that it imports from others."""

    name: str
    path: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)

    def function_around(self, node: ast.AST) -> ast.AST | None:
        """Returns the function or lambda that contains a node, None in the module itself."""
        parent = self.parents.get(node)
        while parent is not None and not isinstance(parent, SCOPES):
            parent = self.parents.get(parent)
        return parent

    def class_of(self, function: ast.AST) -> ast.ClassDef | None:
        """Returns the class of a method, None of a function."""
        parent = self.parents.get(function)
        return parent if isinstance(parent, ast.ClassDef) else None

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """Returns the class that contains a node."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.ClassDef):
                return node
        return None


@dataclass(frozen=True, eq=False)
class Place:
    """A node in its module."""

    module: Module
    node: ast.AST


class Program:
    """All modules, with indexes by name: functions, calls, attributes of classes, and arguments."""

    def __init__(self, root: Path = SRC) -> None:
        self.modules: dict[str, Module] = {}
        self.functions: dict[str, list[Place]] = defaultdict(list)
        self.calls: dict[str, list[Place]] = defaultdict(list)
        self.class_values: dict[str, list[Place]] = defaultdict(list)
        self.keywords: dict[str, list[Place]] = defaultdict(list)
        self.bound_methods: dict[str, list[Place]] = defaultdict(list)
        self.bases: dict[str, set[str]] = defaultdict(set)
        self._nodes: dict[ast.AST, list[ast.AST]] = {}
        self._bindings: dict[ast.AST, dict[str, list[ast.AST]]] = {}
        for path in sorted(root.rglob("*.py")):
            self._read(path, root)

    def _read(self, path: Path, root: Path) -> None:
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(("panewise", *parts)).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = self.modules[name] = Module(name, path.relative_to(root).as_posix(), tree)
        unvisited: list[ast.AST] = [tree]
        while unvisited:
            node = unvisited.pop()
            children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, _CONTEXTS)]
            module.parents.update(dict.fromkeys(children, node))
            unvisited += children
            self._index(module, node)

    def _index(self, module: Module, node: ast.AST) -> None:
        if isinstance(node, ast.ImportFrom) and node.module:
            module.imports.update((a.asname or a.name, (node.module, a.name)) for a in node.names)
        elif isinstance(node, FUNCTIONS):
            self.functions[node.name].append(Place(module, node))
        elif isinstance(node, ast.ClassDef):
            self.bases[node.name] |= {last_name(base) for base in node.bases}
            for name, value in _values_of_class(node):
                self.class_values[name].append(Place(module, value))
        elif isinstance(node, ast.Call):
            self.calls[last_name(node.func)].append(Place(module, node))
            for keyword in node.keywords:
                self.keywords[keyword.arg or ""].append(Place(module, keyword.value))
            for argument in node.args:
                if isinstance(argument, ast.Attribute):
                    self.bound_methods[argument.attr].append(Place(module, argument.value))

    def nodes_of(self, module: Module, function: ast.AST | None) -> list[ast.AST]:
        """Returns the nodes of a function, or of a module, without those of functions inside."""
        top = module.tree if function is None else function
        if top not in self._nodes:
            self._nodes[top] = [*_own_nodes(top)]
        return self._nodes[top]

    def bindings(self, module: Module, function: ast.AST | None) -> dict[str, list[ast.AST]]:
        """Returns the nodes of a function, or of a module, that bind a name, by the name."""
        top = module.tree if function is None else function
        if top not in self._bindings:
            bindings = self._bindings[top] = defaultdict(list)
            for node in self.nodes_of(module, function):
                for name in _names_bound(node):
                    bindings[name].append(node)
        return self._bindings[top]

    def targets(self, module: Module, called: ast.AST) -> list[Place]:
        """Returns the functions that a call may call."""
        if isinstance(called, ast.Name):
            return self._by_name(module, called.id)
        if not isinstance(called, ast.Attribute):
            return []
        if isinstance(called.value, ast.Name) and called.value.id in module.imports:
            whole = ".".join(module.imports[called.value.id])
            if whole in self.modules:
                return self._by_name(self.modules[whole], called.attr)
        methods = [place for place in self.functions[called.attr] if place.module.class_of(place.node)]
        methods = [] if len(methods) > MANY_METHODS or hasattr(str, called.attr) else methods
        return [*methods, *self._by_keyword(called.attr)]

    def _by_name(self, module: Module, name: str) -> list[Place]:
        if name in module.imports:
            origin, imported = module.imports[name]
            return self._by_name(self.modules[origin], imported) if origin in self.modules else []
        places = (place for place in self.functions[name] if place.module is module)
        return [place for place in places if module.class_of(place.node) is None]

    def _by_keyword(self, name: str) -> list[Place]:
        """Returns the functions that are a field of families, such as `output_time=_output_time`."""
        values = [place for place in self.keywords[name] if isinstance(place.node, ast.Name)]
        return [target for value in values for target in self.targets(value.module, value.node)]

    def calls_of(self, place: Place) -> Iterator[tuple[Place, int]]:
        """Yields the calls of a function, each with the number of parameters that it gives no arguments."""
        module, function = place.module, place.node
        assert isinstance(function, FUNCTIONS)
        owner = module.class_of(function)
        name = owner.name if owner is not None and function.name == "__init__" else function.name
        for call in self.calls[name]:
            assert isinstance(call.node, ast.Call)
            if owner is None:
                if any(target.node is function for target in self.targets(call.module, call.node.func)):
                    yield call, 0
            elif _fits(call.node, function) and self._may_call(call, owner):
                decorators = {last_name(decorator) for decorator in function.decorator_list}
                yield call, 0 if "staticmethod" in decorators else 1

    def _may_call(self, call: Place, owner: ast.ClassDef) -> bool:
        """Returns whether a call of a method of this name is one of this class."""
        assert isinstance(call.node, ast.Call)
        called = call.node.func
        if not isinstance(called, ast.Attribute):
            receivers = {last_name(place.node) for place in self.bound_methods[last_name(called)]}
        elif last_name(called.value) == "self":
            around = call.module.class_around(call.node)
            return around is None or owner.name in self._lineage(around.name)
        else:
            receivers = {last_name(called.value)}
        if receivers & call.module.imports.keys() or hasattr(str, last_name(called)):
            return False
        return self._is_of(receivers, last_name(called), owner)

    def _is_of(self, receivers: set[str], method: str, owner: ast.ClassDef) -> bool:
        """Returns whether the method of objects with these names may be the one of a class.

        Where a name ends the names of classes, as in `parser` and `QueryParser`, it is one of theirs.
        """
        owners = [place.module.class_of(place.node) for place in self.functions[method]]
        named = [other for other in owners if other and any(_hints(name, other) for name in receivers)]
        return owner in named if named else True

    def _lineage(self, name: str) -> set[str]:
        """Returns a class with those that it inherits from."""
        return {name, *(above for base in self.bases[name] for above in self._lineage(base))}


def _fits(call: ast.Call, method: Function) -> bool:
    """Returns whether a method takes as many arguments as a call has."""
    if call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    names = parameters(method)
    required = [name for name in names if name not in defaults(method)]
    most = len(call.args) if method.args.vararg else len(names)
    return len(required) - 1 <= len(call.args) <= most


def _hints(receiver: str, owner: ast.ClassDef) -> bool:
    return len(receiver) > 2 and owner.name.lower().endswith(receiver.strip("_").lower())


def last_name(node: ast.AST) -> str:
    """Returns a name without what stands before its last dot."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _values_of_class(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            yield from ((last_name(target), statement.value) for target in statement.targets)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield last_name(statement.target), statement.value


def _names_bound(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.For | ast.comprehension):
        targets = [node.target]
    else:
        return {node.name} if isinstance(node, ast.ExceptHandler) and node.name else set()
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def _own_nodes(top: ast.AST) -> Iterator[ast.AST]:
    unvisited: list[ast.AST] = [*ast.iter_child_nodes(top)]
    while unvisited:
        node = unvisited.pop()
        yield node
        if not isinstance(node, FUNCTIONS):
            unvisited.extend(ast.iter_child_nodes(node))


def parameters(function: Function) -> list[str]:
    """Returns the names of parameters that arguments by place are for."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def defaults(function: Function) -> dict[str, ast.expr]:
    """Returns the defaults of parameters, by their names."""
    names, arguments = parameters(function), function.args
    by_place = dict(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True))
    pairs: Iterable[tuple[ast.arg, ast.expr | None]] = zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=True
    )
    return by_place | {argument.arg: value for argument, value in pairs if value is not None}


@cache
def program() -> Program:
    """Returns the program of the sources, read once."""
    return Program()
