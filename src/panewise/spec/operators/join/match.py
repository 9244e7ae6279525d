"""All matches of a join: which rows of the two sides belong together (semantics 37)."""

from typing import TypeAlias

from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.last_rows import LastRows
from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.streams import WindowedStreams

Match: TypeAlias = Interval | AsOf | SameWindow | LastRows | Latest | WindowedStreams
