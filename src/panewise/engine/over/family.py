"""OVER operators, as :class:`panewise.engine.protocol.EngineParts`."""

from collections.abc import Mapping
from typing import Any

from panewise.engine.columns import END, ONE_KEY
from panewise.engine.ingest.input_state import checked, read_clocks
from panewise.engine.over.operator import OverEngine, passed_until
from panewise.engine.over.plan import OverPlan
from panewise.engine.progress.clocks import Clocks
from panewise.engine.protocol import Inspection, Schemas, TableReader
from panewise.families import INPUT
from panewise.spec import OverOperator


def compile(spec: OverOperator, schemas: Schemas) -> OverPlan:  # noqa: A001 - the name of the protocol
    """Returns the plan."""
    return OverPlan(spec, schemas[INPUT])


def operator(spec: OverOperator, schemas: Schemas) -> OverEngine:
    """Returns an operator that has taken no step."""
    return OverEngine(spec, schemas[INPUT])


def inspect(spec: OverOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the rows that have not passed (semantics 29.2)."""
    clocks, keys = read_clocks(checked(header), Clocks.of(spec)), list(spec.keys) or [ONE_KEY]
    rows = read(0, [*keys, END], [END], [], passed_until(spec, clocks))
    return Inspection(clocks, rows, keys)
