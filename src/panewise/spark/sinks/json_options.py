"""The options with which sinks write JSON (semantics 49.15, 49.43)."""

from typing import Final

# Nulls are written, and all digits of instants, in any time zone of the session. So keys are equal where
# their values are, also in other sessions.
JSON_OPTIONS: Final = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
