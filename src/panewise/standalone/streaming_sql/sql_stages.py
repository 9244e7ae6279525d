"""Makes the nodes of the stages of a compiled text: expressions by Polars, windows and joins by operators."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from panewise.engine.kernels.column_types import Dtypes
from panewise.errors import SpecError, SqlError
from panewise.sql.expressions.values import is_values
from panewise.sql.stages import (
    UNSORTED,
    AssignedStage,
    DistinctStage,
    JoinStage,
    OverStage,
    QueryStage,
    RowsStage,
    SetStage,
    SparkStage,
    TableStage,
    TailStage,
    UnionStage,
    WatermarkedStage,
)
from panewise.sql.text.pieces import one_line
from panewise.standalone.streaming_sql.sql_nodes import (
    AssignedNode,
    MarkedNode,
    RowsNode,
    SharedNode,
    SqlNode,
    TableNode,
)
from panewise.standalone.streaming_sql.sql_operators import NODES, JoinNode
from panewise.standalone.streaming_sql.sql_sets import DistinctNode, SetNode, UnionNode, ValuesNode
from panewise.standalone.streaming_sql.sql_tails import TailNode


@dataclass
class NodeBuilder:
    """Makes the nodes of stages.

    Attributes:
        schemas: the columns of the tables, by lower-case names.
        follows: whether watermarks follow rows, as on a stream. On a batch they have no effect.
        text: the text of the query, for errors.
        shared: the stages that several others read. Equal stages have one node, so a row that it rejects is
            rejected once.
        made: the nodes of shared stages, by the place of the first equal one.
    """

    schemas: Mapping[str, Dtypes]
    follows: bool
    text: str
    shared: list[QueryStage] = field(default_factory=list)
    made: dict[int, SqlNode] = field(default_factory=dict)

    def last_node(self, stage: QueryStage) -> SqlNode:
        """Returns the node of the last stage.

        Raises:
            SqlError: if there is a stage that only Spark runs.
        """
        stages = [*_read(stage)]
        self.shared = [each for each in stages if stages.count(each) > 1]
        return self.node(stage)

    def node(self, stage: QueryStage) -> SqlNode:
        """Returns the node of a stage, which is made once."""
        if stage not in self.shared:
            return self._node(stage)
        place = self.shared.index(stage)
        if place not in self.made:
            self.made[place] = SharedNode(self._node(stage))
        return self.made[place]

    def _node(self, stage: QueryStage) -> SqlNode:
        makers: dict[type[Any], Callable[[Any], SqlNode]] = {
            TableStage: self._table,
            WatermarkedStage: lambda marked: MarkedNode(
                marked, self.node(marked.input), follows=self.follows
            ),
            RowsStage: lambda rows: RowsNode(rows, self.node(rows.input)),
            AssignedStage: lambda rows: AssignedNode(rows, self.node(rows.input)),
            JoinStage: lambda join: JoinNode(join, self.node(join.left), self.node(join.right)),
            UnionStage: lambda union: UnionNode(self.node(union.left), self.node(union.right)),
            SetStage: lambda pair: SetNode(
                pair, self.node(pair.left), self.node(pair.right), follows=self.follows
            ),
            TailStage: lambda tail: TailNode(tail, self.node(tail.input)),
            DistinctStage: lambda rows: DistinctNode(self.node(rows.input), follows=self.follows),
            SparkStage: self._of_spark,
        }
        maker = makers.get(type(stage))
        if maker is not None:
            return maker(stage)
        return self._operator(stage)

    def _operator(self, stage: Any) -> SqlNode:
        """Returns the node of an operator over the rows of one stage."""
        if isinstance(stage, OverStage) and stage.whole is not None:
            return self._over_whole(stage, stage.whole)
        node = NODES[type(stage)](stage, self.node(stage.input))
        if self.follows:
            node.check_times()
        return node

    def _over_whole(self, stage: OverStage, whole: QueryStage) -> SqlNode:
        """Returns functions over windows: in the order of event times, or else in that of places."""
        try:
            return self.node(replace(stage, whole=None))
        except SpecError:
            return self.node(whole)

    def _table(self, stage: TableStage) -> SqlNode:
        if stage.name is None and is_values(stage.text):
            return ValuesNode(stage, follows=self.follows)
        schema = self.schemas.get((stage.name or "").lower())
        if schema is None:
            rule = f"the tables are {sorted(self.schemas)}"
            raise SqlError(f"a table {stage.text}", rule, "give it by its name")
        return TableNode(stage, schema, follows=self.follows)

    def _of_spark(self, stage: SparkStage) -> SqlNode:
        """Returns the node of a query that needs no Spark.

        Raises:
            SqlError: if Spark alone runs it.
        """
        if stage.plain is not None:
            return self.node(stage.plain)
        why = stage.endless
        if why is not None and why.rule != UNSORTED[0]:
            raise why.error()
        rule = "in process there are selections, windows, functions OVER and joins by time"
        written = one_line(" ... ".join(stage.parts))
        raise SqlError(written, rule, "run it on Spark, or compute the table before")


def _read(stage: QueryStage) -> Iterator[QueryStage]:
    """Yields a stage and those whose rows it reads in process, each as often as it is read."""
    plain = stage.plain if isinstance(stage, SparkStage) else None
    yield stage
    for before in stage.inputs if plain is None else (plain,):
        yield from _read(before)
