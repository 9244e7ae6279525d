"""Options of Spark's sources, which Spark ignores if they are misspelt (semantics 46.42, 49.17)."""

import difflib
from typing import Final

_KAFKA: Final = """
    subscribe subscribePattern assign includeHeaders failOnDataLoss minPartitions maxRecordsPerPartition
    groupIdPrefix startingOffsets endingOffsets startingTimestamp endingTimestamp
    startingOffsetsByTimestamp endingOffsetsByTimestamp startingOffsetsByTimestampStrategy
    maxOffsetsPerTrigger minOffsetsPerTrigger maxTriggerDelay kafkaConsumer.pollTimeoutMs
    fetchOffset.numRetries fetchOffset.retryIntervalMs
"""
_FILES: Final = """
    maxFilesPerTrigger maxBytesPerTrigger maxCachedFiles discardCachedInputRatio latestFirst maxFileAge
    fileNameOnly cleanSource sourceArchiveDir pathGlobFilter recursiveFileLookup modifiedBefore
    modifiedAfter ignoreMissingFiles ignoreCorruptFiles basePath
"""
_DELTA: Final = """
    startingVersion endingVersion ignoreDeletes ignoreChanges ignoreFileDeletion skipChangeCommits
    readChangeFeed readChangeData versionAsOf timestampAsOf excludeRegex failOnDataLoss
    withEventTimeOrder schemaTrackingLocation schemaLocation allowSourceColumnRename
    allowSourceColumnDrop
"""
_RATE: Final = "rowsPerSecond rampUpTime rowsPerBatch numPartitions startTimestamp advanceMillisPerBatch"
_KNOWN: Final = {name.lower(): name for text in (_KAFKA, _FILES, _DELTA, _RATE) for name in text.split()}


def meant_option(name: str) -> str | None:
    """Returns the option that a misspelt name nearly is, None if it is one or is like none.

    Options of a format, such as of CSV, and those of Kafka's clients are like none.

    >>> meant_option("startingOfsets"), meant_option("startingoffsets"), meant_option("multiLine")
    ('startingOffsets', None, None)
    """
    lower = name.lower()
    if lower in _KNOWN or lower.startswith("kafka."):
        return None
    close = difflib.get_close_matches(lower, _KNOWN, n=1, cutoff=0.85)
    return _KNOWN[close[0]] if close else None
