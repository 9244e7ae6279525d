"""Window operators, as :class:`panewise.engine.family_parts.EngineParts`."""

from dataclasses import replace
from typing import Any, Final

from panewise.engine.family_parts import EngineParts, division_by_keys, on_call, with_one_input
from panewise.engine.store.division import Division
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows.sliding.slices import BLOCKS, SLICES
from panewise.engine.windows.state import WINDOWS


def division(operator: Any) -> dict[str, Division]:
    """Returns how the tables of windows are divided, and those of the stages of a chain.

    Each slice is also in a block, or there are no blocks. So blocks stay only if all shards have them.
    """
    tables = division_by_keys(operator)
    return {name: replace(of, flag="in_blocks") if name == BLOCKS else of for name, of in tables.items()}


PARTS: Final = EngineParts(
    compile=with_one_input(WindowPlan),
    operator=with_one_input(on_call("panewise.engine.windows.operator:WindowEngine")),
    tables=lambda spec: (WINDOWS, SLICES, BLOCKS),
    inspect=on_call("panewise.engine.windows.inspection:inspect"),
    current_results=on_call("panewise.engine.windows.changed_results:WindowResults"),
    take_over=on_call("panewise.engine.windows.evolution:take_over"),
    record_windows=on_call("panewise.engine.windows.records:record_windows"),
    division=division,
)
