"""Where a query stands: its text, the queries of WITH that it may read, and what one compilation shares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from panewise.chrono import DurationLike
from panewise.errors import SqlError
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import NamedTable, Query, Source
from panewise.sql.stages import QueryStage

Known: TypeAlias = "Mapping[str, WithQuery]"
# The key is the text, and the name and `id` of each query of WITH. The value also has these queries, as
# Python gives the `id` of a deleted object to another one.
Written: TypeAlias = dict[tuple[str, tuple[tuple[str, int], ...]], tuple[QueryStage, Known]]


@dataclass
class WithQuery:
    """A query of WITH.

    Attributes:
        query: its syntax, None if its columns have other names.
        scope: where it stands.
        stage: its stage, None if it cannot stand alone.
        error: why it cannot.
        inlined: whether it is a part of a Top-N.
    """

    query: Query | None
    scope: "QueryScope"
    stage: QueryStage | None
    error: SqlError | None = None
    inlined: bool = False

    def note_inlined(self) -> None:
        """Notes that it is a part of a Top-N."""
        self.inlined = True


@dataclass(frozen=True)
class QueryScope:
    """Where a query stands.

    Attributes:
        parser: the parser, which knows the text.
        compile_query: returns the stage of a query in a scope. Each part compiles the queries in it by this.
        known: the queries of WITH, by their lower-case names.
        update: the update policy of joins that say none.
        written: the stages of queries that were written again. A query may be compiled twice: to see whether
            it is an operator, and when it is a part of a text that is written again. Without stored stages
            the innermost of n queries would be compiled some 2^n times.
        sides: the stages of the parts of UNION in this text, by identity.
        whole: whether the tables are whole inputs, which have a last row (semantics 46.50).
    """

    parser: QueryParser
    compile_query: Callable[[Query, "QueryScope"], QueryStage]
    known: Known = field(default_factory=dict)
    update: DurationLike | None = None
    written: Written = field(default_factory=dict)
    sides: dict[int, QueryStage] = field(default_factory=dict)
    whole: bool = False

    def query(self, query: Query) -> QueryStage:
        """Returns the stage of a query that stands here."""
        return self.compile_query(query, self)

    def named(self, source: Source | None) -> WithQuery | None:
        """Returns the query of WITH whose name stands in FROM, None for another source."""
        name = source.name if isinstance(source, NamedTable) else None
        return None if name is None else self.known.get(name.lower())

    def within(self, known: Known) -> "QueryScope":
        """Returns a scope in the same text, with other queries of WITH."""
        return replace(self, known=known)

    def of_text(self, parser: QueryParser) -> "QueryScope":
        """Returns a scope in another text, with the same queries of WITH."""
        return replace(self, parser=parser, sides={})
