"""Which micro-batches of a checkpoint have begun and were committed, by the logs of Spark."""

from pathlib import PurePosixPath
from typing import Final

from pyspark.sql import SparkSession

from panewise.spark.sinks.paths import exists

NONE: Final = -1  # the number before that of the first micro-batch


def last_committed(session: SparkSession, checkpoint: str) -> int:
    """Returns the last micro-batch that was committed, -1 if none was."""
    return last_number(session, f"{checkpoint}/commits")


def has_state(session: SparkSession, checkpoint: str) -> bool:
    """Returns whether a micro-batch was committed, and so a state may be stored."""
    return last_committed(session, checkpoint) != NONE


def has_begun(session: SparkSession, checkpoint: str) -> bool:
    """Returns whether a micro-batch has begun, and so sinks may have rows."""
    return last_number(session, f"{checkpoint}/offsets") != NONE


def uncommitted(session: SparkSession, checkpoint: str) -> int | None:
    """Returns the micro-batch that has begun and is not committed, None if there is none."""
    latest = last_number(session, f"{checkpoint}/offsets")
    return latest if latest > last_committed(session, checkpoint) else None


def last_number(session: SparkSession, directory: str) -> int:
    """Returns the highest number that is the name of a file, -1 if there is none."""
    if not exists(session, directory):
        return NONE
    files = session.read.format("binaryFile").load(directory).select("path").collect()
    names = [PurePosixPath(file.path).name for file in files]
    return max((int(name) for name in names if name.isdecimal()), default=NONE)
