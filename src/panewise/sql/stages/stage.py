"""A stage: the rows of a query, or of a part of it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class QueryStage(ABC):
    """The rows of a query, or of a part of it."""

    @property
    @abstractmethod
    def inputs(self) -> "tuple[QueryStage, ...]":
        """The stages before it."""


@dataclass(frozen=True)
class FollowingStage(QueryStage):
    """A stage that follows another one: `input`."""

    input: QueryStage

    @property
    def inputs(self) -> tuple[QueryStage, ...]:
        """The stage before it."""
        return (self.input,)


@dataclass(frozen=True)
class OutputColumn:
    """A column of a SELECT list.

    Attributes:
        text: the expression over the rows of the stage.
        name: the name of the column, None if it is the one that Spark gives to `original`.
        original: the expression as it is written.
    """

    text: str
    name: str | None
    original: str


def walk(stage: QueryStage) -> Iterator[QueryStage]:
    """Yields a stage and those before it, the last one first."""
    yield stage
    for before in stage.inputs:
        yield from walk(before)
