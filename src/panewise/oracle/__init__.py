"""The oracle: the reference implementation of docs/semantics.md.

It processes one row at a time, is slow, and defines the right result. It shares no code for these rules with
the engine: both are written from the text, and tests compare their outputs.
"""

from collections.abc import Mapping
from typing import Any

from panewise.families import INPUT, part
from panewise.oracle.chain.interpreter import ChainInterpreter
from panewise.oracle.columns import checked_types
from panewise.oracle.over.interpreter import OverInterpreter
from panewise.oracle.policy.interpreter import PolicyInterpreter
from panewise.oracle.windows.interpreter import Interpreter
from panewise.spec import Specification, parts
from panewise.spec.column_types import Type

__all__ = ["ChainInterpreter", "Interpreter", "OverInterpreter", "PolicyInterpreter", "interpreter"]


def interpreter(spec: Specification, types: Mapping[str, Any] | None = None) -> Any:
    """Returns the interpreter of a specification.

    Args:
        spec: the specification.
        types: the types of columns by name; of a specification with several inputs by port and name.

    Raises:
        SpecError: if a column has a type that the specification cannot use (semantics 24.19).
        InputError: for an unknown name of a type.
    """
    of_columns = dict(types or {})
    by_port = {INPUT: of_columns} if set(spec.ports) == {INPUT} else of_columns
    named = {port: checked_types(by_port.get(port)) for port in {**by_port, **spec.ports}}
    typed = {port: {column: Type(kind) for column, kind in named[port].items()} for port in spec.ports}
    parts(spec).check_types(spec, typed)
    return part(spec.family.oracle)(spec, of_columns)
