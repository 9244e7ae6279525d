"""A compiled query: its last stage, and what all stages have in common."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from panewise.errors import SqlError
from panewise.sql.stages.inputs import RowsStage, TableStage
from panewise.sql.stages.joins import JoinStage
from panewise.sql.stages.operators import SingleInputStage
from panewise.sql.stages.stage import QueryStage, walk

OurStage: TypeAlias = SingleInputStage | JoinStage


@dataclass(frozen=True)
class CompiledQuery:
    """A compiled query.

    Attributes:
        stage: the last stage.
        tail: what Spark does with the finished rows of a batch: ORDER BY, LIMIT, OFFSET. Columns in ORDER BY
            have the names that the SELECT list gives to them.
        place: where the tail begins in the text.
        sql: the whole text.
        written: the tail as it is written.
    """

    stage: QueryStage
    tail: str | None = None
    place: int = 0
    sql: str = field(default="", repr=False)
    written: str = field(default="", repr=False)

    @property
    def last(self) -> OurStage | None:
        """The last stage of panewise, None if Spark alone runs the query."""
        return next((stage for stage in walk(self.stage) if isinstance(stage, OurStage)), None)

    def tail_error(self, rule: str, remedy: str) -> SqlError:
        """Returns an error at the tail."""
        place = {"start": self.place, "end": self.place + len(self.written)}
        return SqlError(self.written, rule, remedy, sql=self.sql, **place)


def is_ours(stage: QueryStage) -> bool:
    """Returns whether the rows of a stage are those of an operator."""
    return isinstance(stage, OurStage) or (isinstance(stage, RowsStage) and is_ours(stage.input))


def has_operator(stage: QueryStage) -> bool:
    """Returns whether a stage, or one before it, is an operator."""
    return any(isinstance(before, OurStage) for before in walk(stage))


def run_options(stage: QueryStage) -> dict[str, Any]:
    """Returns how Spark runs an operator: the options of the tables that it reads itself."""
    options: dict[str, Any] = {}
    for before in stage.inputs:
        if isinstance(before, TableStage):
            options |= before.run
        elif not isinstance(before, OurStage):
            options |= run_options(before)
    return options
