"""What `write` is called with: its options, and the outputs of earlier operators of the query."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from panewise.choices import check_choice
from panewise.errors import SpecError
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.shuffle.envelope import kind_of_output
from panewise.spark.sinks.base import AnySink
from panewise.spec.codec.same_aggregates import ADDED_AGGREGATES, AddedAggregates
from panewise.spec.fields import is_name

# What Spark takes as the interval of a trigger.
_INTERVAL: Final = re.compile(
    r"(?:interval\s+)?(?:[+-]?\d+(?:\.\d*)?\s*(?:week|day|hour|minute|second|millisecond|microsecond)s?\s*)+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class WriteOptions:
    """The arguments of `write` besides the sinks, as in :meth:`panewise.spark.WindowResult.write`."""

    checkpoint: str | None
    available_now: bool
    processing_time: str | None
    name: str | None
    sequence: str | None = None
    initial_state: str | None = None
    added_aggregates: AddedAggregates = "null"

    def __post_init__(self) -> None:
        if self.checkpoint is not None and not is_name(self.checkpoint):
            rule = "a checkpoint is the path of a directory, as a text that is not empty"
            raise SpecError(f"checkpoint={self.checkpoint!r}", rule, "give for example '/a/directory'")
        interval = self.processing_time
        if interval is not None and not (isinstance(interval, str) and _INTERVAL.fullmatch(interval.strip())):
            rule = "the interval between micro-batches is a text with units from weeks to microseconds"
            raise SpecError(f"processing_time={interval!r}", rule, "give for example '10 seconds'")
        check_choice("added_aggregates", self.added_aggregates, ADDED_AGGREGATES)
        if self.available_now and self.processing_time is not None:
            rule = "a run that stops when everything is processed has no interval between micro-batches"
            fault = f"available_now=True with processing_time={self.processing_time!r}"
            raise SpecError(fault, rule, "leave out one of the two")

    @property
    def trigger(self) -> dict[str, Any]:
        """The arguments of Spark's trigger, none for its default."""
        if self.available_now:
            return {"availableNow": True}
        return {} if self.processing_time is None else {"processingTime": self.processing_time}


@dataclass(frozen=True)
class EarlierOutput:
    """An output of an earlier operator of a query (semantics 42.9).

    `name` is that of the output in `write`, and `kind` that of its envelopes at its operator. The first
    operator has the number 0. `write` writes the output of a batch DataFrame.
    """

    dataflow: Dataflow
    name: str
    kind: str
    number: int
    sink: AnySink
    write: Callable[[], object]

    @property
    def label(self) -> str:
        """The kind of the envelopes in the output of the query."""
        return kind_of_output(self.kind, self.number)
