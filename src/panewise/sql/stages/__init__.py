"""What a text of SQL compiles to: a tree of stages, each a small value (semantics 46.2).

A stage of panewise has a specification, the columns that are computed before it, and the SELECT list over
its rows. All expressions are texts for Spark: characters of the query, in which only names are replaced.
"""

from panewise.sql.stages.endless import UNSORTED, Endless, EndlessError
from panewise.sql.stages.inputs import (
    UNGROUPED,
    WATERMARKED,
    AssignedStage,
    DistinctStage,
    Ordering,
    PairStage,
    RowsStage,
    SetStage,
    SparkStage,
    TableStage,
    TableWatermark,
    TailStage,
    UnionStage,
    WatermarkedStage,
)
from panewise.sql.stages.joins import JoinStage, OpenCondition, Referring
from panewise.sql.stages.operators import (
    Computed,
    DeduplicateStage,
    OverStage,
    RowPlace,
    SingleInputStage,
    WindowsStage,
)
from panewise.sql.stages.query import CompiledQuery, OurStage, has_operator, is_ours, run_options
from panewise.sql.stages.ranked import Place, Ranked, Ties
from panewise.sql.stages.stage import FollowingStage, OutputColumn, QueryStage, walk
