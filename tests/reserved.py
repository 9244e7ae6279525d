"""Names that panewise uses itself, as names of a user's columns."""

import panewise.engine.columns
from panewise.spark.metrics import COLUMN
from panewise.spark.workers.pack import NOW, SHARD

_CONSTANTS = vars(panewise.engine.columns)
INNER = sorted({name for key, name in _CONSTANTS.items() if key.isupper() and str(name).startswith("__")})
# Of columns in outputs and envelopes, and of parts of names.
OUTER = (
    *(
        "window_start",
        "window_end",
        "timing",
        "index",
        "op",
        "timestamp",
        "processing_time",
        "delta",
        "tuples",
    ),
    *("event", "join_time", "missing", "kind", "payload", "shard", "row", "reason", "windows", "late_by"),
    *("partial", "start", "end", "note", "value", "watermark", "v:left", "t:done", ":deadline", ":mark"),
    *("*", "^v.*$", "^$"),  # patterns of Polars
)
NAMES = (*INNER, "__progress", "__live:x", NOW, COLUMN, SHARD, *OUTER)
