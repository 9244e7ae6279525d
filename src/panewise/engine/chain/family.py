"""Chains, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from panewise.engine.chain.plan import ChainPlan
from panewise.engine.protocol import EngineParts, Inspection, Schemas, TableReader
from panewise.families import INPUT
from panewise.spec import Chain

if TYPE_CHECKING:
    from panewise.engine.chain.operator import ChainEngine


def compile(spec: Chain, schemas: Schemas) -> ChainPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return ChainPlan(spec, schemas[INPUT])


def operator(spec: Chain, schemas: Schemas) -> "ChainEngine":
    """Returns an operator that has taken no step."""
    from panewise.engine.chain.operator import ChainEngine  # noqa: PLC0415 - see above

    return ChainEngine(spec, schemas[INPUT])


def tables(spec: Chain) -> tuple[str, ...]:
    """Returns the names of the tables of windows, of the stages, and of slices."""
    from panewise.engine.chain.stage import TABLES  # noqa: PLC0415 - see above
    from panewise.engine.windows.state import BLOCKS, SLICES, WINDOWS  # noqa: PLC0415 - see above

    numbers = range(1, len(spec.stages) + 1)
    return WINDOWS, *(f"{name} of stage {number}" for number in numbers for name in TABLES), SLICES, BLOCKS


def inspect(spec: Chain, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows of the window operator."""
    from panewise.engine.windows import inspection  # noqa: PLC0415 - see above

    return inspection.inspect(spec.first, header, read)


PARTS: Final = EngineParts(compile=compile, operator=operator, tables=tables, inspect=inspect)
