"""An operator whose emitted rows are the input of another operator (semantics 42.5)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from panewise.spark.dataflow import Dataflow


@dataclass(frozen=True)
class Feed:
    """An operator whose emitted rows are an input.

    Attributes:
        first: the operator.
        shape: a function that makes the input from its rows and envelopes (:meth:`Dataflow.as_input`).
        others: the number of operators before the other inputs, for the names of metrics.
    """

    first: "Dataflow"
    shape: Callable[[DataFrame], DataFrame]
    others: int

    def then(self, shape: Callable[[DataFrame], DataFrame]) -> "Feed":
        """Returns the feed with one more change of the rows."""
        before = self.shape
        return replace(self, shape=lambda df: shape(before(df)))

    def rows(self, written: Mapping[str, str]) -> DataFrame:
        """Returns the input; `written` as in :meth:`Dataflow.as_input`."""
        return self.shape(self.first.as_input(self.others, written))


def renamed_inputs(
    dfs: Mapping[str, DataFrame], feeds: Mapping[str, Feed], names: Mapping[str, str]
) -> tuple[dict[str, DataFrame], dict[str, Feed]]:
    """Returns inputs and their feeds with renamed columns; `names` has the new name of each old one."""

    def rename(df: DataFrame) -> DataFrame:
        return df.withColumnsRenamed(dict(names))

    renamed_feeds = {port: feed.then(rename) for port, feed in feeds.items()}
    return {port: rename(df) for port, df in dfs.items()}, renamed_feeds
