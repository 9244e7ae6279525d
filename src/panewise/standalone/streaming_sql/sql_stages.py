"""Makes the nodes of the stages of a compiled text: expressions by Polars, windows and joins by operators."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from panewise.engine.kernels.column_types import Dtypes
from panewise.errors import SqlError
from panewise.sql.stages import (
    UNSORTED,
    AssignedStage,
    JoinStage,
    QueryStage,
    RowsStage,
    SparkStage,
    TableStage,
    WatermarkedStage,
)
from panewise.sql.text.pieces import one_line
from panewise.standalone.streaming_sql.sql_nodes import AssignedNode, MarkedNode, RowsNode, SqlNode, TableNode
from panewise.standalone.streaming_sql.sql_operators import NODES, JoinNode


@dataclass
class NodeBuilder:
    """Makes the nodes of stages.

    Attributes:
        schemas: the columns of the tables, by lower-case names.
        follows: whether watermarks follow rows, as on a stream. On a batch they have no effect.
        text: the text of the query, for errors.
    """

    schemas: Mapping[str, Dtypes]
    follows: bool
    text: str

    def node(self, stage: QueryStage) -> SqlNode:
        """Returns the node of a stage.

        Raises:
            SqlError: if it is one that only Spark runs.
        """
        makers: dict[type[Any], Callable[[Any], SqlNode]] = {
            TableStage: self._table,
            WatermarkedStage: lambda marked: MarkedNode(
                marked, self.node(marked.input), follows=self.follows
            ),
            RowsStage: lambda rows: RowsNode(rows, self.node(rows.input)),
            AssignedStage: lambda rows: AssignedNode(rows, self.node(rows.input)),
            JoinStage: lambda join: JoinNode(join, self.node(join.left), self.node(join.right)),
            SparkStage: self._of_spark,
        }
        maker = makers.get(type(stage))
        if maker is not None:
            return maker(stage)
        operator: Any = stage
        node = NODES[type(operator)](operator, self.node(operator.input))
        if self.follows:
            node.check_times()
        return node

    def _table(self, stage: TableStage) -> SqlNode:
        schema = self.schemas.get((stage.name or "").lower())
        if schema is None:
            rule = f"the tables are {sorted(self.schemas)}"
            raise SqlError(f"a table {stage.text}", rule, "give it by its name")
        return TableNode(stage, schema, follows=self.follows)

    def _of_spark(self, stage: SparkStage) -> SqlNode:
        """Refuses a query that Spark alone runs."""
        why = stage.endless
        if why is not None and why.rule != UNSORTED[0]:
            raise why.error()
        rule = "in process there are selections, windows, functions OVER and joins by time"
        written = one_line(" ... ".join(stage.parts))
        raise SqlError(written, rule, "run it on Spark, or compute the table before")
