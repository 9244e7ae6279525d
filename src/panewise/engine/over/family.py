"""OVER operators, as :class:`panewise.engine.family_parts.EngineParts`."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.columns import END, key_columns
from panewise.engine.family_parts import EngineParts, Inspection, TableReader, on_call, with_one_input
from panewise.engine.ingest.input_state import read_clocks
from panewise.engine.over.plan import OverPlan, passed_until
from panewise.engine.over.state import WAITING
from panewise.engine.progress.clocks import Clocks
from panewise.spec import OverOperator
from panewise.state.manifest import checked


def inspect(spec: OverOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the rows that have not passed (semantics 29.2)."""
    clocks, keys = read_clocks(checked(header), Clocks.initial(spec)), key_columns(spec.keys)
    rows = read(WAITING, [*keys, END], [END], [], passed_until(spec, clocks), keys if spec.keys else [END])
    return Inspection(clocks, rows, keys)


PARTS: Final = EngineParts(
    compile=with_one_input(OverPlan),
    operator=with_one_input(on_call("panewise.engine.over.operator:OverEngine")),
    tables=lambda spec: (WAITING,),
    inspect=inspect,
)
