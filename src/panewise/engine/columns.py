"""The names of the columns that operators add to their input. Each name of this module has one meaning.

The state is stored under these names, so a name may only change together with the format of the state
(docs/state-format.md). A column that one module adds and drops again is private to that module. It may have
the text of a name here.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

T = TypeVar("T")

# Rows on their way through an operator
TIME: Final = "__time"  # the event time, microseconds; for windows of rows the row number
PLACE: Final = "__place"  # the place of the row in the input of its batch
ARRIVAL_NUMBER: Final = "__turn"  # the place of the row among all rows that the operator has received
ROW: Final = "__row"  # a number that the caller gives to a row, and that is returned with it
ONE_KEY: Final = "__all"  # the key of all rows, if the specification has no keys
KEY_WATERMARK: Final = "__watermark"  # the watermark of the row's key, if keys have their own; null: none yet
SLICE: Final = "__slice"  # the start of the slice that contains the row
# The windows that a function of the user returns for the row: List(Struct(start, end)), sorted, each once.
OWN_WINDOWS: Final = "__own"
SLIDE_CODE: Final = "__code"  # of sliding windows: key and time as one number, in the same order
SESSION: Final = "__session"  # the number of the session that the row is merged into
ORDER: Final = "__order"  # the place of the row in the arrival order of its batch

# Late and invalid rows
REASON: Final = "__reason"  # why a row is late or invalid
MISSED_WINDOWS: Final = "__windows"  # the windows that a late row missed
LATE_BY: Final = "__late_by"  # how far a late row is behind the watermark, microseconds
PARTIAL: Final = "__partial"  # whether a late row is applied to other windows
MISSED_SESSIONS: Final = "__missed"  # MISSED_WINDOWS of a row that is late for sessions
CAUSE: Final = "__cause"  # REASON of such a row

# Windows
START: Final = "__start"  # inclusive
END: Final = "__end"  # exclusive; in tables of other rows the time at which a row expires or is due
PENDING: Final = "__pending"  # rows applied since the last firing (semantics 16.1)
UNFLIPPED: Final = "__unflipped"  # whether the on-time firing is still to come (semantics 20.1)
CLOSED: Final = "__closed"  # whether the trigger has finished (semantics 19)
INDEX: Final = "__index"  # panes emitted so far (semantics 20.2)
NONSPECULATIVE: Final = "__nonspeculative"  # panes emitted so far that are not EARLY (semantics 20.2)
BORN: Final = "__born"  # processing time of the first row; with a periodic trigger A of semantics 16.3
# Processing time of the last firing; with a periodic trigger F of semantics 16.3. Null: none yet, or F = A.
FIRED: Final = "__fired"
LIVE: Final = "__live"  # whether a pane is live (semantics 21.2)
_OF_LIVE_PANE: Final = "__live:"  # begins the name of a column of the live pane
ROWS: Final = "__rows"  # how many rows a partial is made from
CARRY: Final = "__carry:"  # begins the name of the carry of a sum; a state of an older release has none
ROW_BUFFER: Final = "__contents"  # the rows that a window stores: a list of structs
NEW_ROWS: Final = "__new"  # how many rows of the row buffer arrived since the last firing
WAS_STORED: Final = "__was_stored"  # while windows are merged: whether a row comes from the table
ADDED_ROWS: Final = "__came"  # while windows are merged: how many rows the batch adds
ALL_WINDOWS: Final = "__all_windows"  # of a slice: the number of its windows
EXPIRED_WINDOWS: Final = "__expired_windows"  # of a slice: for each of its windows, whether it has expired
IS_BLOCK: Final = "__is_block"  # of a piece of sliding windows or ranges: whether it is a block
DEADLINE_SUFFIX: Final = ":deadline"  # ends the name of a trigger's deadline in processing time
# Ends the name of a trigger's deadline in event time, which counts whether or not rows are pending.
EVENT_DEADLINE_SUFFIX: Final = ":event_deadline"
PENDING_DEADLINE_SUFFIX: Final = ":mark"  # the same of one that counts only while rows are pending

# Runs
HASH: Final = "__hash"  # the hash that a run is sorted by; not stored
TOMBSTONE: Final = "__dead"  # whether the row is a tombstone: older rows of its window are deleted

# OVER
STORED_TIME: Final = "__at_time"  # of a stored row: its time
SLOT: Final = "__slot"  # of a stored row: identifies it among those of its key
ROW_NUMBER: Final = "__number"  # of a stored row: its place among all rows of its key, from 0
RANK: Final = "__rank"  # of a row: how many rows of its key come before its peers
DENSE_RANK: Final = "__dense"  # of a row: how many groups of peers of its key come before its own
BLOCK_START: Final = "__from"  # of a block: its rows are after this time, and at or before its END
ROW_COUNT: Final = "__count"  # of a key: how many rows have passed
UNEMITTED: Final = "__unemitted"  # of a key: how many rows have passed and are not emitted
TIME_COUNT: Final = "__peers"  # of a key: how many groups of peers have passed

# Joins
NUMBER: Final = "__join_number"  # of a stored row: its place among all valid rows that the join has received
MATCHED: Final = "__matched"  # of a stored row: whether it had a partner when it arrived
DELETES: Final = "__deletes"  # of a stored row: whether it deletes the row of its key
# For a row that is retained by number: how many applied rows of its key and side arrived before it.
ORDINAL: Final = "__ordinal"
PEAK: Final = "__peak"  # of a row of a window by delta: the highest value of its key up to it
SINCE: Final = "__since"  # of such a row: the number of the first row of the window after it was inserted
RELEASE: Final = "__release"  # of a row that waits: the processing time that releases it; null: none does
COMPLETE: Final = "__complete"  # of such a row: the watermark of its side that releases it; null: none does

# Partitions of policy windows
TUPLES: Final = "__tuples"  # the tuples
ARRIVED: Final = "__arrived"  # the processing time at which each tuple arrived
USED: Final = "__used"  # the number of the last insertion
FED: Final = "__fed"  # the processing time of the last insertion
ACTED: Final = "__acted"  # when a policy of time last acted, or when the partition began
UNTRIGGERED: Final = "__untriggered"  # insertions since the last TRIGGER by count
REFERENCE: Final = "__reference"  # the reference value of a trigger by delta
BEYOND_LIMIT: Final = "__beyond_limit"  # whether a key has as many later windows as it may have
FULL: Final = "__full"  # whether INITIAL_FULL has been raised
CHANGED: Final = "__changed"  # whether there was an insertion or eviction since the last TRIGGER
LISTENER: Final = "__listener"  # the state of the listener, JSON


def key_columns(keys: Iterable[str]) -> list[str]:
    """Returns the columns of a key: a constant one if the specification has no keys."""
    return list(keys) or [ONE_KEY]


def live_column(name: str) -> str:
    """Returns the name under which the table stores a column of the live pane."""
    return f"{_OF_LIVE_PANE}{name}"


def is_live_column(name: str) -> bool:
    """Returns whether a name is one that :func:`live_column` returns."""
    return name.startswith(_OF_LIVE_PANE)


def user_columns(columns: Mapping[str, T]) -> dict[str, T]:
    """Returns the columns of the user's rows, without those that operators and runtimes have added.

    >>> user_columns({"k": "string", ROW: "bigint"})
    {'k': 'string'}
    """
    return {name: value for name, value in columns.items() if not name.startswith("__")}
