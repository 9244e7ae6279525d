"""Dataflows in which no column of the user has a name that begins with `__`.

Such names are for the columns that operators add (:mod:`panewise.spec.reserved_names`). So a dataflow is made
of inputs with other names. Its outputs have the user's names (:mod:`panewise.spark.own_names`).
"""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame

from panewise.chrono import Duration
from panewise.spark.checks import check_column_types
from panewise.spark.dataflow import Dataflow
from panewise.spec import Specification
from panewise.spec.reserved_names import inner_names, renamed


def dataflow_of(
    dfs: Mapping[str, DataFrame],
    spec: Specification,
    shards: int | None,
    clock: Duration | None,
    output_names: Mapping[str, Mapping[str, str]],
) -> Dataflow:
    """Returns the dataflow of a specification over inputs, both with the user's names."""
    inner = inner_names([name for df in dfs.values() for name in df.columns], spec)
    if inner:
        dfs = {port: df.withColumnsRenamed(inner) for port, df in dfs.items()}
    seen = {
        port: {inner.get(own, own): name for own, name in of.items()} for port, of in output_names.items()
    }
    return replace(Dataflow.of(dfs, renamed(spec, inner), shards, clock, seen), inner=inner)


def with_spec(flow: Dataflow, spec: Specification) -> Dataflow:
    """Returns the dataflow of another specification, with the user's names, over the same inputs.

    Raises:
        SpecError: if the specification does not fit the types of the inputs.
    """
    restored = {own: name for name, own in flow.inner.items()}
    dfs = {port: df.withColumnsRenamed(restored) if restored else df for port, df in flow.dfs.items()}
    check_column_types(dfs, spec)
    output_names = {
        port: {restored.get(own, own): name for own, name in of.items()}
        for port, of in (flow.output_names or {}).items()
    }
    shards = None if flow.default_shards else len(flow.shards)
    return dataflow_of(dfs, spec, shards, flow.clock, output_names)
