"""The interpreter of a specification of any family."""

from collections.abc import Mapping
from typing import Any

from panewise.families import INPUT, part
from panewise.oracle.columns import checked_types
from panewise.spec import Specification, parts
from panewise.spec.column_types import Type


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
