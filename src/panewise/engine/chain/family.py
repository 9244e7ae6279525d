"""Chains, as :class:`panewise.engine.protocol.EngineParts`."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.chain.plan import TABLES, ChainPlan
from panewise.engine.protocol import (
    EngineParts,
    Inspection,
    Schemas,
    TableReader,
    engine_parts,
    with_one_input,
)
from panewise.families import INPUT
from panewise.spec import Chain


def compile(spec: Chain, schemas: Schemas) -> ChainPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return ChainPlan(spec, schemas[INPUT])


def tables(spec: Chain) -> tuple[str, ...]:
    """Returns the names of the tables of windows, of the stages, and of slices."""
    windows, *slices = engine_parts(spec.first).tables(spec.first)
    stages = range(1, len(spec.stages) + 1)
    return windows, *(f"{name} of stage {number}" for number in stages for name in TABLES), *slices


def inspect(spec: Chain, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows of the window operator."""
    return engine_parts(spec.first).inspect(spec.first, header, read)


PARTS: Final = EngineParts(
    compile=compile,
    operator=with_one_input("panewise.engine.chain.operator:ChainEngine"),
    tables=tables,
    inspect=inspect,
)
