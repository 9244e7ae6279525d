"""OVER operators, as :class:`panewise.engine.protocol.EngineParts`."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.columns import END, ONE_KEY
from panewise.engine.ingest.input_state import checked, read_clocks
from panewise.engine.over.plan import OverPlan, passed_until
from panewise.engine.over.state import WAITING
from panewise.engine.progress.clocks import Clocks
from panewise.engine.protocol import EngineParts, Inspection, Schemas, TableReader, with_one_input
from panewise.families import INPUT
from panewise.spec import OverOperator


def compile(spec: OverOperator, schemas: Schemas) -> OverPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return OverPlan(spec, schemas[INPUT])


def inspect(spec: OverOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the rows that have not passed (semantics 29.2)."""
    clocks, keys = read_clocks(checked(header), Clocks.of(spec)), list(spec.keys) or [ONE_KEY]
    rows = read(WAITING, [*keys, END], [END], [], passed_until(spec, clocks), keys if spec.keys else [END])
    return Inspection(clocks, rows, keys)


PARTS: Final = EngineParts(
    compile=compile,
    operator=with_one_input("panewise.engine.over.operator:OverEngine"),
    tables=lambda spec: (WAITING,),
    inspect=inspect,
)
