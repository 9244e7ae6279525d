"""Names that are nearly those of options of Spark's sources (semantics 46.42, 49.17)."""

import pytest

from panewise.source_options import meant_option

# Options of Spark's formats and of other sources, which are not misspelt ones.
OTHERS = """
    path header sep delimiter encoding quote escape inferSchema mode multiLine nullValue dateFormat
    timestampFormat maxColumns maxCharsPerColumn columnNameOfCorruptRecord samplingRatio emptyValue
    lineSep mergeSchema timeZone datetimeRebaseMode int96RebaseMode wholetext rowTag rootTag
    ignoreSurroundingSpaces ignoreNamespace ignoreLeadingWhiteSpace ignoreExtension avroSchema host port
    includeTimestamp dbtable partitionColumn lowerBound upperBound numPartitions fetchsize value.format
    include kafka.group.id kafka.startingOfsets
"""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("startingOfsets", "startingOffsets"),
        ("starting_offsets", "startingOffsets"),
        ("maxfilepertrigger", "maxFilesPerTrigger"),
        ("failOnDataLos", "failOnDataLoss"),
        ("rowPerSecond", "rowsPerSecond"),
        ("STARTINGOFFSETS", None),
        *((other, None) for other in OTHERS.split()),
    ],
)
def test_misspelt_names(name: str, meant: str | None) -> None:
    """semantics 46.42, 49.17"""
    assert meant_option(name) == meant
