"""Makes the nodes of the stages of a compiled text: expressions by Polars, windows and joins by operators."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from panewise.engine.kernels.column_types import Dtypes
from panewise.errors import SpecError, SqlError
from panewise.sql.expressions.values import is_values
from panewise.sql.stages import (
    UNSORTED,
    AssignedStage,
    DistinctStage,
    FollowingStage,
    JoinStage,
    OverStage,
    QueryStage,
    RowsStage,
    SetStage,
    SingleInputStage,
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
from panewise.standalone.streaming_sql.sql_operators import JoinNode, operator_node
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
        match stage:
            case TableStage():
                return self._table(stage)
            case SparkStage():
                return self._of_spark(stage)
            case SingleInputStage():
                return self._operator(stage)
            case JoinStage() | UnionStage() | SetStage():
                return self._of_two(stage)
        assert isinstance(stage, FollowingStage)
        return self._following(stage, self.node(stage.input))

    def _following(self, stage: FollowingStage, source: SqlNode) -> SqlNode:
        """Returns the node of a stage that follows another one, and is no operator."""
        match stage:
            case WatermarkedStage():
                return MarkedNode(stage, source, follows=self.follows)
            case RowsStage():
                return RowsNode(stage, source)
            case AssignedStage():
                return AssignedNode(stage, source)
            case TailStage():
                return TailNode(stage, source)
        assert isinstance(stage, DistinctStage)
        return DistinctNode(source, follows=self.follows)

    def _of_two(self, stage: JoinStage | UnionStage | SetStage) -> SqlNode:
        """Returns the node of a stage with the rows of two stages."""
        left, right = self.node(stage.left), self.node(stage.right)
        match stage:
            case JoinStage():
                return JoinNode(stage, left, right)
            case UnionStage():
                return UnionNode(left, right)
        return SetNode(stage, left, right, follows=self.follows)

    def _operator(self, stage: SingleInputStage) -> SqlNode:
        """Returns the node of an operator over the rows of one stage."""
        if isinstance(stage, OverStage) and stage.whole is not None:
            return self._over_whole(stage, stage.whole)
        node = operator_node(stage, self.node(stage.input))
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
