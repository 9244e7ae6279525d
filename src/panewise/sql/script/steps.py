"""What is to be done for each statement of a script."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from panewise.sql.script.statements import (
    Insert,
    QueryView,
    Setting,
    Show,
    SinkTable,
    SourceView,
    SparkStatement,
)
from panewise.sql.stages import CompiledQuery

OWN_OPTIONS: Final = frozenset({"path", "checkpoint", "trigger", "finish", "initial_state"})  # of a sink
_OUTPUT: Final = re.compile(
    r"((first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|operator\d+)_)?"
    r"((left|right)_)?(late|invalid|counts)(@\w+)?"
)


@dataclass(frozen=True)
class Trigger:
    """When micro-batches run: all that is available and then the end, or at an interval; else at once."""

    available_now: bool = False
    processing_time: str | None = None


@dataclass(frozen=True)
class SourceStep:
    """A source. `streaming` says whether it is read as a stream."""

    statement: SourceView
    streaming: bool


@dataclass(frozen=True)
class QueryStep:
    """A query with a name, or one whose rows are printed once the queries before it have ended.

    Without `compiled` Spark alone runs it.
    """

    statement: QueryView | Show
    compiled: CompiledQuery | None


@dataclass(frozen=True)
class SinkStep:
    """A sink, with the options that are for its format."""

    statement: SinkTable

    @property
    def options(self) -> dict[str, str]:
        """The options for the format."""
        return {key: text for key, text in self.statement.options.items() if is_of_format(key)}

    @property
    def outputs(self) -> dict[str, str]:
        """The tables of other outputs, such as late rows, by the names of the outputs."""
        return {key: table for key, table in self.statement.options.items() if _OUTPUT.fullmatch(key)}


def is_of_format(option: str) -> bool:
    """Returns whether an option of a sink is for its format."""
    return option not in OWN_OPTIONS and not _OUTPUT.fullmatch(option)


def written_paths(sink: SinkStep, outputs: Mapping[str, SinkStep], checkpoint: str | None) -> dict[str, str]:
    """Returns the paths that a query writes to, by what they are."""
    statements = [table.statement for table in (sink, *outputs.values())]
    paths = {f"the table {each.name}": each.options["path"] for each in statements if "path" in each.options}
    return paths | ({} if checkpoint is None else {f"the checkpoint of {sink.statement.name}": checkpoint})


@dataclass(frozen=True)
class InsertStep:
    """A query that is written to a sink.

    Attributes:
        statement: the statement.
        compiled: the stages, None if Spark alone runs the query.
        sink: the sink of its rows.
        outputs: those of its other outputs, by their names.
        streaming: whether it is a stream, as far as the script shows.
        checkpoint: the directory of its checkpoint if it is a stream, None if there is none.
        trigger: when its micro-batches run.
        at_end: whether the end of the stream is the end of the input.
        initial_state: the file with whose state a new checkpoint begins, None if there is none.
    """

    statement: Insert
    compiled: CompiledQuery | None
    sink: SinkStep
    outputs: Mapping[str, SinkStep]
    streaming: bool
    checkpoint: str | None
    trigger: Trigger
    at_end: bool
    initial_state: str | None = None


@dataclass(frozen=True)
class SettingStep:
    """A setting of the session. Those of panewise have had their effect already.

    Attributes:
        statement: the statement.
        own: whether it is one of panewise.
        replaced: whether the command has made the same setting, so that this one has no effect.
    """

    statement: Setting
    own: bool
    replaced: bool


@dataclass(frozen=True)
class SparkStep:
    """A statement that Spark runs as it is."""

    statement: SparkStatement


Step: TypeAlias = SettingStep | SourceStep | QueryStep | SinkStep | InsertStep | SparkStep
