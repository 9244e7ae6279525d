"""Inputs that are the emitted rows of other operators (semantics 42.5), and inputs with renamed columns.

A query writes outputs of an earlier operator, too. Then that operator is planned again, with these outputs
among its emitted rows. So a feed has the operator and what makes the input of its rows, besides that input.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from panewise.engine.protocol import Schemas
from panewise.spark.dataflow.initial_state import InitialState
from panewise.spec import Specification


class Upstream(Protocol):
    """A dataflow whose emitted rows are an input of another one."""

    @property
    def spec(self) -> Specification:
        """The specification."""

    @property
    def shards(self) -> Sequence[int]:
        """The numbers of the shards."""

    @property
    def fed(self) -> Mapping[str, "Feed"]:
        """The operators whose rows are inputs of this one, by port."""

    def inputs(self, *, all_columns: bool) -> Mapping[str, StructType]:
        """The columns of each input."""

    def schemas(self, *, all_columns: bool) -> Schemas:
        """The types of these columns in the engine."""

    @property
    def operators(self) -> list["Upstream"]:
        """This operator and those before it, in the order in which Spark numbers them."""

    def starting_with(self, state: InitialState | None) -> "Upstream":
        """Returns the dataflow that begins with a state."""

    def writing(self, outputs: dict[int, dict[str, str]], controls: str | None) -> "Upstream":
        """Returns the dataflow whose inputs also carry outputs of earlier operators."""

    def as_input(self, others: int, written: Mapping[str, str]) -> DataFrame:
        """Returns the emitted rows and envelopes, for a second operator."""


@dataclass(frozen=True)
class Feed:
    """An operator whose emitted rows are the input of another operator.

    Attributes:
        first: the operator.
        shape: a function that makes the input from its rows and envelopes.
        others: the number of operators before the other inputs, for the names of metrics.
    """

    first: Upstream
    shape: Callable[[DataFrame], DataFrame]
    others: int

    def then(self, shape: Callable[[DataFrame], DataFrame]) -> "Feed":
        """Returns the feed with one more change of the rows."""
        before = self.shape
        return replace(self, shape=lambda df: shape(before(df)))

    def rows(self, written: Mapping[str, str]) -> DataFrame:
        """Returns the input. `written` are the outputs that the query writes, each with its numbered kind."""
        return self.shape(self.first.as_input(self.others, written))


def renamed_inputs(
    dfs: Mapping[str, DataFrame], feeds: Mapping[str, Feed], names: Mapping[str, str]
) -> tuple[dict[str, DataFrame], dict[str, Feed]]:
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
