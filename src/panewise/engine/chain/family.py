"""Chains, as :class:`panewise.engine.family_parts.EngineParts`."""

from typing import Final

from panewise.engine.chain.plan import TABLES, ChainPlan
from panewise.engine.family_parts import EngineParts, engine_parts, on_call, with_one_input
from panewise.engine.windows.family import division
from panewise.spec import Chain


def tables(spec: Chain) -> tuple[str, ...]:
    """Returns the names of the tables of windows, of the stages, and of slices."""
    windows, *slices = engine_parts(spec.first).tables(spec.first)
    stages = range(1, len(spec.stages) + 1)
    return windows, *(f"{name} of stage {number}" for number in stages for name in TABLES), *slices


PARTS: Final = EngineParts(
    compile=with_one_input(ChainPlan),
    operator=with_one_input(on_call("panewise.engine.chain.operator:ChainEngine")),
    tables=tables,
    inspect=lambda spec, header, read: engine_parts(spec.first).inspect(spec.first, header, read),
    take_over=on_call("panewise.engine.chain.evolution:take_over"),
    division=division,
)
