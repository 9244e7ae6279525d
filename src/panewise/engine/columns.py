"""The names of all columns that operators add to their input. Each name has one meaning.

Columns of state are stored under these names: a name changes with the format of state only (docs/state-format.md).
A column that one module adds and drops again is private to that module.
"""

from typing import Final

# Rows on their way through an operator
TIME: Final = "__time"  # the event time, microseconds; with row numbering the row's number
PLACE: Final = "__place"  # the row's place in the input of its batch
ARRIVAL_NUMBER: Final = "__turn"  # the row's place among all rows that the operator has received
ROW: Final = "__row"  # the caller's own number of a row, which comes back with the row
ONE_KEY: Final = "__all"  # the key of all rows, if the specification has no keys
KEY_WATERMARK: Final = "__watermark"  # the watermark of the row's key, where keys have their own; null: none so far
SLICE: Final = "__slice"  # the start of the slice that the row is in
OWN_WINDOWS: Final = "__own"  # the windows that a function of the user gives: List(Struct(start, end)), sorted, distinct
SLIDE_CODE: Final = "__code"  # of sliding windows: key and time as one number that sorts as they do
SESSION: Final = "__session"  # the number of the session that a row is merged into
ORDER: Final = "__order"  # the row's place in arrival order

# Late and invalid rows
REASON: Final = "__reason"  # why a row is late or invalid
MISSED_WINDOWS: Final = "__windows"  # the windows that a late row missed
LATE_BY: Final = "__late_by"  # how far a late row is behind the watermark, microseconds
PARTIAL: Final = "__partial"  # whether a late row is in other windows all the same
MISSED_SESSIONS: Final = "__missed"  # MISSED_WINDOWS of a row that is late for sessions
CAUSE: Final = "__cause"  # REASON of such a row

# Windows
START: Final = "__start"  # closed
END: Final = "__end"  # open; in tables of other rows the instant at which a row expires or is due
PENDING: Final = "__pending"  # rows applied since the last firing (semantics 16.1)
UNFLIPPED: Final = "__unflipped"  # whether the on-time firing is still to come (semantics 20.1)
CLOSED: Final = "__closed"  # whether the trigger has finished (semantics 19)
INDEX: Final = "__index"  # panes emitted so far (semantics 20.2)
NONSPECULATIVE: Final = "__nonspeculative"  # those of them that are not EARLY
BORN: Final = "__born"  # processing time of the first row; with a periodic trigger A of semantics 16.3
FIRED: Final = "__fired"  # processing time of the last firing; with a periodic trigger F of semantics 16.3, null: F = A
LIVE: Final = "__live"  # whether a pane is live (semantics 21.2)
_OF_LIVE_PANE: Final = "__live:"
ROWS: Final = "__rows"  # how many rows a partial is made of
ROW_BUFFER: Final = "__contents"  # the rows that a window stores: a list of structs
NEW_ROWS: Final = "__new"  # how many rows of the row buffer came since the last firing
WAS_STORED: Final = "__held"  # while windows are merged: whether a row comes from the table
CAME: Final = "__came"  # while windows are merged: how many rows the batch adds
ALL_WINDOWS: Final = "__all_windows"  # of a slice: the number of its windows
EXPIRED_WINDOWS: Final = "__gone"  # of a slice: how many of its windows have expired
IS_BLOCK: Final = "__is_block"  # of a piece of sliding windows or ranges: whether it is a block of slices
DEADLINE_SUFFIX: Final = ":deadline"  # ends the name of a trigger's instant of processing time
MARK_SUFFIX: Final = ":mark"  # ends the name of a trigger's instant of the watermark

# Runs
HASH: Final = "__hash"  # the hash that a run is sorted by; not stored
TOMBSTONE: Final = "__dead"  # whether the row says that a window of an older run is deleted

# OVER
STORED_TIME: Final = "__at_time"  # of a stored row: its time
SLOT: Final = "__slot"  # of a stored row: tells it from the others of its key
ROW_NUMBER: Final = "__number"  # of a stored row: its place among all rows of its key, from 0
RANK: Final = "__rank"  # of a row: how many rows of its key come before its time
DENSE_RANK: Final = "__dense"  # of a row: how many times of its key come before its own
BLOCK_START: Final = "__from"  # of a block: the time after which its rows come; they end at its time
ROW_COUNT: Final = "__count"  # of a key: how many rows have passed
TIME_COUNT: Final = "__peers"  # of a key: how many different times have passed

# Partitions of policy windows
TUPLES: Final = "__tuples"  # the tuples
ARRIVED: Final = "__arrived"  # when each tuple came
USED: Final = "__used"  # the number of the last insertion
FED: Final = "__fed"  # when the last insertion was
ACTED: Final = "__acted"  # when the time policy acted last, or began
UNTRIGGERED: Final = "__untriggered"  # tuples since the last TRIGGER by count
REFERENCE: Final = "__reference"  # the reference value of a trigger by delta
FULL: Final = "__full"  # whether INITIAL_FULL has been raised
CHANGED: Final = "__changed"  # whether the partition has changed since the last TRIGGER
LISTENER: Final = "__listener"  # the state of the listener, JSON


def live_column(name: str) -> str:
    """Returns the name under which the table stores a column of the live pane."""
    return f"{_OF_LIVE_PANE}{name}"


def is_live_column(name: str) -> bool:
    """Returns whether a name is one that :func:`live_column` returns."""
    return name.startswith(_OF_LIVE_PANE)
