"""Chains, as :class:`panewise.engine.protocol.EngineParts`."""

from collections.abc import Mapping
from typing import Any

from panewise.engine.chain.operator import ChainOperator
from panewise.engine.chain.plan import ChainPlan
from panewise.engine.protocol import Inspection, Schemas, TableReader
from panewise.engine.windows import family as windows
from panewise.families import INPUT
from panewise.spec import Chain


def compile(spec: Chain, schemas: Schemas) -> ChainPlan:  # noqa: A001 - the name of the protocol
    """Returns the plan."""
    return ChainPlan(spec, schemas[INPUT])


def operator(spec: Chain, schemas: Schemas) -> ChainOperator:
    """Returns an operator that has taken no step."""
    return ChainOperator(spec, schemas[INPUT])


def inspect(spec: Chain, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows of the window operator."""
    return windows.inspect(spec.first, header, read, slices=1 + 2 * len(spec.stages))
