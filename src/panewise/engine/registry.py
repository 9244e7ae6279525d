"""Plans and operators of every family, by specification and columns, with caches.

A runtime needs a plan and an operator in every micro-batch. With the caches a process compiles each
specification once. Specifications with functions of the user are not cached: such a specification equals any
other whose functions have the same names, even if the functions differ.
"""

import copy
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias, cast

import polars as pl

from panewise.engine.family_parts import engine_parts
from panewise.engine.protocol import Operator, Plan, Schema, Schemas
from panewise.families import INPUT
from panewise.spec import Specification, parts

_Columns: TypeAlias = tuple[tuple[str, tuple[tuple[str, pl.DataType], ...]], ...]


def by_port(spec: Specification, schema: Schema | Schemas) -> Schemas:
    """Returns schemas by port. For an operator with one input, its schema alone may be given."""
    if any(isinstance(value, Mapping) for value in schema.values()) or set(spec.ports) != {INPUT}:
        return cast(Schemas, schema)
    return {INPUT: cast(Schema, schema)}


def plan_for(spec: Specification, schema: Schema | Schemas) -> Plan:
    """Returns the plan of a specification of any family. No operator is built or loaded for it."""
    schemas = by_port(spec, schema)
    plan = _cached_plan(spec, _columns(schemas))
    return engine_parts(spec).compile(spec, schemas) if plan is None else plan


def operator_for(spec: Specification, schema: Schema | Schemas) -> Operator:
    """Returns a new operator of any family, with empty tables in memory."""
    return engine_parts(spec).operator(spec, by_port(spec, schema))


def cached_operator(spec: Specification, schema: Schema | Schemas) -> Operator:
    """Returns an operator that has taken no step. The caller must replace the libraries of its tables.

    Operators that were made from the same cached one share these libraries.
    """
    schemas = by_port(spec, schema)
    operator = _cached_operator(spec, _columns(schemas))
    return engine_parts(spec).operator(spec, schemas) if operator is None else copy.copy(operator)


def _columns(schemas: Schemas) -> _Columns:
    return tuple((port, tuple(schema.items())) for port, schema in schemas.items())


def _schemas(columns: _Columns) -> Schemas:
    return {port: dict(schema) for port, schema in columns}


@lru_cache(maxsize=64)
def _cached_plan(spec: Specification, columns: _Columns) -> Plan | None:
    """Returns the plan; None if the specification has functions of the user."""
    return None if parts(spec).calls_users(spec) else engine_parts(spec).compile(spec, _schemas(columns))


@lru_cache(maxsize=64)
def _cached_operator(spec: Specification, columns: _Columns) -> Operator | None:
    """Returns the operator; None if the specification has functions of the user."""
    return None if parts(spec).calls_users(spec) else engine_parts(spec).operator(spec, _schemas(columns))
