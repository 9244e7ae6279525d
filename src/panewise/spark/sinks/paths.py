"""Paths of sinks on any file system that Spark reads."""

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType


def exists(session: SparkSession, path: str) -> bool:
    """Returns whether a path exists, on any file system that Spark reads, in classic and Connect sessions.

    The path is given twice, because for a single missing path Spark logs a warning with a stack trace.
    """
    try:
        return isinstance(session.read.text([path, path]).schema, StructType)
    except AnalysisException:  # no such path
        return False
