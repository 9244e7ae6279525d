"""OVER operators, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from panewise.engine.columns import END, ONE_KEY
from panewise.engine.ingest.input_state import checked, read_clocks
from panewise.engine.over.plan import OverPlan
from panewise.engine.progress.clocks import Clocks
from panewise.engine.protocol import EngineParts, Inspection, Schemas, TableReader
from panewise.families import INPUT
from panewise.spec import OverOperator

if TYPE_CHECKING:
    from panewise.engine.over.operator import OverEngine


def compile(spec: OverOperator, schemas: Schemas) -> OverPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return OverPlan(spec, schemas[INPUT])


def operator(spec: OverOperator, schemas: Schemas) -> "OverEngine":
    """Returns an operator that has taken no step."""
    from panewise.engine.over.operator import OverEngine  # noqa: PLC0415 - see above

    return OverEngine(spec, schemas[INPUT])


def inspect(spec: OverOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the rows that have not passed (semantics 29.2)."""
    from panewise.engine.over.operator import passed_until  # noqa: PLC0415 - see above

    clocks, keys = read_clocks(checked(header), Clocks.of(spec)), list(spec.keys) or [ONE_KEY]
    rows = read(0, [*keys, END], [END], [], passed_until(spec, clocks), keys if spec.keys else [END])
    return Inspection(clocks, rows, keys)


PARTS: Final = EngineParts(compile=compile, operator=operator, inspect=inspect)
