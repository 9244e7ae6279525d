"""Windows over joins, as :class:`panewise.engine.protocol.EngineParts`."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.nested.state import header_in
from panewise.engine.protocol import EngineParts, Inspection, TableReader, engine_parts, on_call
from panewise.engine.windowed_join.plan import HEADER, WindowedJoinPlan
from panewise.spec import WindowedJoin


def inspect(spec: WindowedJoin, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows, whose tables come first."""
    inner = header_in(HEADER, header)
    return engine_parts(spec.windows).inspect(spec.windows, inner, read)


PARTS: Final = EngineParts(
    compile=WindowedJoinPlan,
    operator=on_call("panewise.engine.windowed_join.operator:WindowedJoinEngine"),
    tables=lambda spec: engine_parts(spec.windows).tables(spec.windows),
    inspect=inspect,
)
