"""Window operators, as :class:`panewise.engine.protocol.EngineParts`."""

from typing import Final

from panewise.engine.protocol import EngineParts, on_call, with_one_input
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows.sliding.slices import BLOCKS, SLICES
from panewise.engine.windows.state import WINDOWS

PARTS: Final = EngineParts(
    compile=with_one_input(WindowPlan),
    operator=with_one_input(on_call("panewise.engine.windows.operator:WindowEngine")),
    tables=lambda spec: (WINDOWS, SLICES, BLOCKS),
    inspect=on_call("panewise.engine.windows.inspection:inspect"),
    current_results=on_call("panewise.engine.windows.changed_results:WindowResults"),
    take_over=on_call("panewise.engine.windows.evolution:take_over"),
)
