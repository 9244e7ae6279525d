"""Windows over joins, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from panewise.engine.protocol import EngineParts, Inspection, Schemas, TableReader, engine_parts
from panewise.engine.windowed_join.plan import WindowedJoinPlan
from panewise.spec import WindowedJoin

if TYPE_CHECKING:
    from panewise.engine.windowed_join.operator import WindowedJoinEngine


def compile(spec: WindowedJoin, schemas: Schemas) -> WindowedJoinPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return WindowedJoinPlan.of(spec, schemas)


def operator(spec: WindowedJoin, schemas: Schemas) -> "WindowedJoinEngine":
    """Returns an operator that has taken no step."""
    from panewise.engine.windowed_join.operator import WindowedJoinEngine  # noqa: PLC0415 - see above

    return WindowedJoinEngine(spec, schemas)


def tables(spec: WindowedJoin) -> tuple[str, ...]:
    """Returns the names of the tables of the windows, which come first."""
    return engine_parts(spec.windows).tables(spec.windows)


def inspect(spec: WindowedJoin, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows, whose tables come first."""
    from panewise.engine.nested.state import header_in  # noqa: PLC0415 - see above
    from panewise.engine.windowed_join.operator import WindowedJoinEngine  # noqa: PLC0415 - see above

    inner = header_in(WindowedJoinEngine.HEADER, header)
    return engine_parts(spec.windows).inspect(spec.windows, inner, read)


PARTS: Final = EngineParts(compile=compile, operator=operator, tables=tables, inspect=inspect)
