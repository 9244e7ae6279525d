"""How the rows of a table are divided among shards.

A state may be continued with another number of shards. Then each row moves to the shard that gets the
later rows of its key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Division:
    """How the rows of one table are divided.

    Attributes:
        keys: the columns that decide the shard of a row. A column that the table lacks is constant.
        numbers: columns with numbers that are unique within a shard only, each with the field of the header
            that counts them.
        owner: a table of the same state. A row follows the row of this table that has the same value in the
            column `by_owner`. Rows without such a row have no meaning.
        by_owner: the column, in both tables.
        flag: a field of the header. If it is not true in all shards the rows can be made again, and are
            dropped.
    """

    keys: tuple[str, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    owner: str | None = None
    by_owner: str = ""
    flag: str | None = None
