"""Policy windows, as :class:`panewise.engine.protocol.EngineParts`."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.columns import END, ONE_KEY, START
from panewise.engine.ingest.input_state import checked, read_clocks
from panewise.engine.policy.plan import PolicyPlan
from panewise.engine.policy.state import PARTITIONS
from panewise.engine.progress.clocks import Clocks
from panewise.engine.protocol import EngineParts, Inspection, Schemas, TableReader, with_one_input
from panewise.families import INPUT
from panewise.spec import StreamWindow


def compile(spec: StreamWindow, schemas: Schemas) -> PolicyPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return PolicyPlan(spec, schemas[INPUT])


def inspect(spec: StreamWindow, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored partitions. Their end is the time at which something is due."""
    clocks = read_clocks(checked(header), Clocks.of(spec.tuples))
    keys = list(spec.partition_by) or [ONE_KEY]
    rows = read(PARTITIONS, [*keys, START, END], keys, keys, None, keys)
    return Inspection(clocks, rows, keys, ends_in_time=False)


PARTS: Final = EngineParts(
    compile=compile,
    operator=with_one_input("panewise.engine.policy.operator:PolicyEngine"),
    tables=lambda spec: (PARTITIONS,),
    inspect=inspect,
)
