"""Specifications: frozen values that say what an operator does. They check themselves, and know no runtime.

They can be compared, printed and written as JSON.
"""

from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.user import UserAggregate
from panewise.spec.aggregates.user_merge import MergeAggregate, UserMergeAggregate
from panewise.spec.conditions import left, right
from panewise.spec.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, evictor_columns
from panewise.spec.family_parts import SpecParts, parts
from panewise.spec.frames import Frame
from panewise.spec.max_windows import MaxWindows
from panewise.spec.operators.chain import Chain, Stage
from panewise.spec.operators.cogroup.operator import CogroupOperator
from panewise.spec.operators.deduplicate import DeduplicateOperator
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import Selected
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.last_rows import LastRows
from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.streams import JoinWindow, WindowedStreams
from panewise.spec.operators.over.from_functions import over_operator
from panewise.spec.operators.over.operator import OverColumn, OverOperator
from panewise.spec.operators.over.row_function import RowFunction
from panewise.spec.operators.panes import PANE_COLUMNS
from panewise.spec.operators.policy.events import StoredPartition, WindowEvent
from panewise.spec.operators.policy.listener import WindowListener
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.operators.windowed_join import WindowedJoin
from panewise.spec.operators.windows import UNLIMITED, WindowOperator
from panewise.spec.protocol import Entry, Specification
from panewise.spec.source_position import Position
from panewise.spec.triggers import presets as policies
from panewise.spec.triggers.composite import (
    DEFAULT_TRIGGER,
    AfterAll,
    AfterAny,
    AfterEach,
    AfterWatermark,
    OrFinally,
    Repeatedly,
    Trigger,
)
from panewise.spec.triggers.simple import (
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    Always,
    Every,
    Never,
    OnDelta,
    OnPunctuation,
)
from panewise.spec.watermarks import (
    FixedLag,
    Inputs,
    RowInputs,
    StreamTime,
    Watermark,
    has_key_watermarks,
    input_columns,
    row_driven,
)
from panewise.spec.window_spec import Over, WindowSpec
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import AnyWindow, Calendar, Cumulating, Global, Hopping, Session, Tumbling
from panewise.spec.windows.size_in_rows import Rows, length, rows
from panewise.spec.windows.sliding import Sliding
from panewise.spec.windows.traits import (
    closed_at_end,
    columns_of_window,
    counted,
    counted_by_key,
    gap_columns,
    merging,
    merging_at_touch,
)

# The public names. What else is imported here is for panewise itself.
__all__ = [
    "UNLIMITED",
    "AfterAll",
    "AfterAny",
    "AfterCount",
    "AfterEach",
    "AfterEventTime",
    "AfterEventTimeDelay",
    "AfterProcessingTime",
    "AfterSilence",
    "AfterWatermark",
    "Aggregate",
    "Always",
    "AsOf",
    "Calendar",
    "Chain",
    "CogroupOperator",
    "CountEvictor",
    "Cumulating",
    "Custom",
    "DeduplicateOperator",
    "DeltaEvictor",
    "Every",
    "FixedLag",
    "Frame",
    "Global",
    "Hopping",
    "Inputs",
    "Interval",
    "JoinOperator",
    "JoinWindow",
    "LastRows",
    "Latest",
    "MaxWindows",
    "MergeAggregate",
    "Never",
    "OnDelta",
    "OnPunctuation",
    "OrFinally",
    "OverColumn",
    "OverOperator",
    "Position",
    "Repeatedly",
    "Rows",
    "SameWindow",
    "Selected",
    "Session",
    "Side",
    "Sliding",
    "Stage",
    "StreamTime",
    "StreamWindow",
    "TimeEvictor",
    "Tumbling",
    "UserAggregate",
    "UserMergeAggregate",
    "WindowEvent",
    "WindowListener",
    "WindowOperator",
    "WindowedJoin",
    "WindowedStreams",
    "left",
    "over_operator",
    "policies",
    "right",
    "rows",
]
