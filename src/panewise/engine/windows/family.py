"""Window operators, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from panewise.engine.protocol import CurrentResults, EngineParts, Inspection, Schemas, TableReader
from panewise.engine.windowing.plan import WindowPlan
from panewise.families import INPUT
from panewise.spec import WindowOperator

if TYPE_CHECKING:
    from panewise.engine.windows.operator import WindowEngine


def compile(spec: WindowOperator, schemas: Schemas) -> WindowPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return WindowPlan(spec, schemas[INPUT])


def operator(spec: WindowOperator, schemas: Schemas) -> "WindowEngine":
    """Returns an operator that has taken no step."""
    from panewise.engine.windows.operator import WindowEngine  # noqa: PLC0415 - see above

    return WindowEngine(spec, schemas[INPUT])


def inspect(spec: WindowOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows."""
    from panewise.engine.windows import inspection  # noqa: PLC0415 - see above

    return inspection.inspect(spec, header, read)


def current_results(operator: "WindowEngine") -> CurrentResults:
    """Returns the current results of an operator's windows."""
    from panewise.engine.windows.current import WindowResults  # noqa: PLC0415 - see above

    return WindowResults(operator)


PARTS: Final = EngineParts(
    compile=compile, operator=operator, inspect=inspect, current_results=current_results
)
