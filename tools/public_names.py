"""Writes the public names of panewise, with their signatures, into tests/house/public_names.txt.

A test compares the file with the code. So a change of the public interface is always seen in a change of the
file. There is one line for each name, and one for each public method or property of a class.
"""

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

LIST = Path(__file__).resolve().parents[1] / "tests" / "house" / "public_names.txt"
MODULES = (
    "panewise",
    "panewise.error_codes",
    "panewise.functions",
    "panewise.observe",
    "panewise.policies",
    "panewise.spark",
    "panewise.spark.compat",
    "panewise.sql",
    "panewise.standalone",
    "panewise.stores",
    "panewise.streamwindow",
    "panewise.testing",
    "panewise.testing.dataframes",
    "panewise.testing.strategies",
)
# Functions of pyspark: what they are depends on PySpark, not on panewise.
NOT_LISTED = {"panewise.spark.compat.functions"}


def lines() -> list[str]:
    """Returns the lines of the list, sorted."""
    return sorted({line for name in MODULES for line in _of_module(name)})


def _of_module(name: str) -> Iterator[str]:
    module = _module(name)
    public = getattr(module, "__all__", None) or _own_names(module)
    for one in public:
        full = f"{name}.{one}"
        if full not in NOT_LISTED:
            yield from _of_value(full, getattr(module, one))


def _module(name: str) -> Any:
    """Returns a module, which may be a name in another one, such as `panewise.policies`."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        package, _, last = name.rpartition(".")
        return getattr(import_module(package), last)


def _own_names(module: Any) -> list[str]:
    """Returns the public names that a module without `__all__` defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
    ]


def _of_value(name: str, value: Any) -> Iterator[str]:
    if inspect.ismodule(value):
        yield f"{name} module"
    elif inspect.isclass(value):
        yield from _of_class(name, value)
    elif callable(value):
        yield f"{name}{_signature(value)}"
    else:
        yield f"{name} = {value!r}"


def _of_class(name: str, kind: type[Any]) -> Iterator[str]:
    """Yields the lines of a class. What it inherits from classes outside of panewise is left out."""
    yield f"{name} class({', '.join(base.__name__ for base in kind.__bases__ if base is not object)})"
    own = [vars(one) for one in kind.__mro__ if one.__module__.partition(".")[0] == "panewise"]
    if any("__init__" in names for names in own):
        yield f"{name}.__init__{_signature(kind.__init__)}"
    members = {member for names in own for member in names}
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    for member in members | fields:
        if not member.startswith("_"):
            yield f"{name}.{member}{_member(kind, member)}"


def _member(kind: type, name: str) -> str:
    """Returns what follows the name of a public member of a class."""
    found = inspect.getattr_static(kind, name, None)
    if isinstance(found, (property, cached_property)):
        return " property"
    if isinstance(found, (staticmethod, classmethod)):
        return f" {type(found).__name__}{_signature(getattr(kind, name))}"
    return _signature(found, kind) if callable(found) else " attribute"


def _signature(function: Any, kind: type[Any] = object) -> str:
    """Returns a signature as text that is the same on all versions of Python.

    It has the types that a class gives to the type variables of its bases.
    """
    found, types = inspect.signature(function), _type_arguments(kind)
    parameters = [
        one.replace(annotation=_shown(_resolved(one.annotation, types))) for one in found.parameters.values()
    ]
    shown = _shown(_resolved(found.return_annotation, types))
    return re.sub(r" at 0x[0-9a-f]+", "", str(found.replace(parameters=parameters, return_annotation=shown)))


def _type_arguments(kind: type[Any]) -> dict[Any, Any]:
    bases = [base for one in kind.__mro__ for base in vars(one).get("__orig_bases__", ())]
    return {
        variable: argument
        for base in bases
        for variable, argument in zip(
            getattr(get_origin(base), "__parameters__", ()), get_args(base), strict=False
        )
    }


def _resolved(annotation: Any, types: dict[Any, Any]) -> Any:
    """Returns an annotation such as `list[T]` with the types in place of its type variables."""
    variables = getattr(annotation, "__parameters__", ())
    if variables and all(one in types for one in variables):
        return annotation[tuple(types[one] for one in variables)]
    return annotation


class _Text:
    """An annotation as text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shown(annotation: Any) -> Any:
    """Returns an annotation as text, with the names of classes without those of modules."""
    return annotation if annotation is inspect.Signature.empty else _Text(_text(annotation))


def _text(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, (str, list)):
        return annotation if isinstance(annotation, str) else f"[{', '.join(map(_text, annotation))}]"
    if annotation is None or annotation is type(None):
        return "None"
    if origin in (Union, UnionType):
        return " | ".join(map(_text, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    name = str(getattr(origin or annotation, "__name__", annotation))
    return f"{name}[{', '.join(map(_text, arguments))}]" if arguments else name


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(lines())} lines in {LIST}\n")
