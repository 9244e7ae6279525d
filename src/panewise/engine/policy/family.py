"""Policy windows, as :class:`panewise.engine.family_parts.EngineParts`."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.columns import END, START, key_columns
from panewise.engine.family_parts import EngineParts, Inspection, TableReader, on_call, with_one_input
from panewise.engine.ingest.input_state import read_clocks
from panewise.engine.policy.plan import PolicyPlan
from panewise.engine.policy.state import PARTITIONS
from panewise.engine.progress.clocks import Clocks
from panewise.spec import StreamWindow
from panewise.state.manifest import checked


def inspect(spec: StreamWindow, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored partitions. Their end is the time at which something is due."""
    clocks = read_clocks(checked(header), Clocks.initial(spec.tuples))
    keys = key_columns(spec.partition_by)
    rows = read(PARTITIONS, [*keys, START, END], keys, keys, None, keys)
    return Inspection(clocks, rows, keys, ends_in_time=False)


PARTS: Final = EngineParts(
    compile=with_one_input(PolicyPlan),
    operator=with_one_input(on_call("panewise.engine.policy.operator:PolicyEngine")),
    tables=lambda spec: (PARTITIONS,),
    inspect=inspect,
)
