"""Window operators, as :class:`panewise.engine.protocol.EngineParts`."""

from typing import Final

from panewise.engine.protocol import EngineParts, Schemas, on_call, with_one_input
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows.state import BLOCKS, SLICES, WINDOWS
from panewise.families import INPUT
from panewise.spec import WindowOperator


def compile(spec: WindowOperator, schemas: Schemas) -> WindowPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return WindowPlan(spec, schemas[INPUT])


PARTS: Final = EngineParts(
    compile=compile,
    operator=with_one_input("panewise.engine.windows.operator:WindowEngine"),
    tables=lambda spec: (WINDOWS, SLICES, BLOCKS),
    inspect=on_call("panewise.engine.windows.inspection:inspect"),
    current_results=on_call("panewise.engine.windows.changed_results:WindowResults"),
)
