"""Cogroups, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from panewise.engine.cogroup.plan import CogroupPlan
from panewise.engine.columns import ONE_KEY
from panewise.engine.protocol import EngineParts, Inspection, Schemas, TableReader, engine_parts
from panewise.spec import CogroupOperator
from panewise.spec.operators.cogroup.windowing import window_operator
from panewise.spec.operators.join.windowing import row_key

if TYPE_CHECKING:
    from panewise.engine.cogroup.operator import CogroupEngine


def compile(spec: CogroupOperator, schemas: Schemas) -> CogroupPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return CogroupPlan.of(spec, schemas)


def operator(spec: CogroupOperator, schemas: Schemas) -> "CogroupEngine":
    """Returns an operator that has taken no step."""
    from panewise.engine.cogroup.operator import CogroupEngine  # noqa: PLC0415 - see above

    return CogroupEngine(spec, schemas)


def tables(spec: CogroupOperator) -> tuple[str, ...]:
    """Returns the names of the tables of the windows."""
    windows = window_operator(spec)
    return engine_parts(windows).tables(windows)


def inspect(spec: CogroupOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the live windows, with the keys of the left side."""
    from panewise.engine.cogroup.operator import CogroupEngine  # noqa: PLC0415 - see above
    from panewise.engine.join.state import read_clocks  # noqa: PLC0415 - see above
    from panewise.engine.nested.state import header_in  # noqa: PLC0415 - see above

    windows = window_operator(spec)
    found = engine_parts(windows).inspect(windows, header_in(CogroupEngine.HEADER, header), read)
    names = {row_key(place): name for place, name in enumerate(spec.keys)}
    rows = found.rows.rename(names) if found.rows.width else found.rows
    return replace(found, clocks=read_clocks(header), rows=rows, keys=list(spec.keys) or [ONE_KEY])


PARTS: Final = EngineParts(compile=compile, operator=operator, tables=tables, inspect=inspect)
