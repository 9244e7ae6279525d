"""The column that orders the emitted rows of a key (semantics 49.1)."""

from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_BITS: Final = 32  # of the number of a row in its micro-batch


def sequenced(rows: DataFrame, batch_id: int, name: str) -> DataFrame:
    """Returns emitted rows with the sequence as the last column.

    The rows are in the order in which their shards emitted them, as nothing has shuffled them yet. A key is
    in one shard, which is in one task. So numbers that ascend within each task order the rows of a key.
    """
    in_task = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _BITS) - 1))
    return rows.withColumn(name, F.lit(batch_id << _BITS) + in_task)


def unused_name(names: Iterable[str], name: str = "__sequence") -> str:
    """Returns a name that none of these columns has.

    The default is for a sequence that rows have and that is not written.

    >>> unused_name(["k", "__SEQUENCE"])
    '__sequence_'
    """
    used = {column.lower() for column in names}
    while name in used:
        name += "_"
    return name
