"""Inputs that are the emitted rows of other operators (semantics 42.5), and inputs with renamed columns.

A query writes outputs of an earlier operator, too. Then that operator is planned again, with these outputs
among its emitted rows. So a feed has the operator, and the function that makes the input from its rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pyspark.sql import DataFrame

D = TypeVar("D")  # the dataflow of an operator


@dataclass(frozen=True)
class Feed(Generic[D]):
    """An operator whose emitted rows are the input of another operator.

    Attributes:
        first: the operator.
        shape: a function that makes the input from its rows and the envelopes among them.
        others: the number of operators before the other inputs, for the names of metrics.
    """

    first: D
    shape: Callable[[DataFrame], DataFrame]
    others: int

    def then(self, shape: Callable[[DataFrame], DataFrame]) -> "Feed[D]":
        """Returns the feed with one more change of the rows."""
        before = self.shape
        return replace(self, shape=lambda df: shape(before(df)))


def renamed_inputs(
    dfs: Mapping[str, DataFrame], feeds: Mapping[str, Feed[D]], names: Mapping[str, str]
) -> tuple[dict[str, DataFrame], dict[str, Feed[D]]]:
    """Returns inputs and their feeds with renamed columns; `names` has the new name of each old one."""

    def rename(df: DataFrame) -> DataFrame:
        return df.withColumnsRenamed(dict(names))

    renamed_feeds = {port: feed.then(rename) for port, feed in feeds.items()}
    return {port: rename(df) for port, df in dfs.items()}, renamed_feeds


def with_names(
    output_names: Mapping[str, Mapping[str, str]] | None, names: Mapping[str, str]
) -> Mapping[str, Mapping[str, str]] | None:
    """Returns the names of outputs by port, for inputs whose columns have other names."""
    if output_names is None:
        return None
    return {
        port: {names.get(own, own): name for own, name in own_names.items()}
        for port, own_names in output_names.items()
    }
