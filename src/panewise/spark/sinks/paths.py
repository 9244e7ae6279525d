"""Paths of sinks on any file system that Spark reads."""

import os
import posixpath
import re

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType


def place(path: str) -> str:
    """Returns a path in one spelling: the real path if it is local, else without extra slashes and dots."""
    scheme, authority, rest = _parts(path)
    if scheme in ("", "file"):
        return os.path.realpath(rest)
    return f"{scheme}://{authority}{posixpath.normpath('/' + rest.lstrip('/'))}"


def is_absolute(path: str) -> bool:
    """Returns whether a path names one place in every process."""
    return _parts(path)[2].startswith("/")


def _parts(path: str) -> tuple[str, str, str]:
    """Returns scheme, authority and path as Hadoop reads them: `?` and `#` are not special."""
    match = re.fullmatch(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", str(path), re.DOTALL)
    assert match is not None, "every part may be empty"
    scheme, authority, rest = match.groups("")
    return scheme.lower(), authority, rest


def exists(session: SparkSession, path: str) -> bool:
    """Returns whether a path exists, on any file system that Spark reads, in classic and Connect sessions.

    The path is given twice, because for a single missing path Spark logs a warning with a stack trace.
    """
    try:
        return isinstance(session.read.text([path, path]).schema, StructType)
    except AnalysisException:  # no such path
        return False


def is_path(text: str) -> bool:
    """Returns whether a text names a path, and not a table: it contains a slash, or begins with a scheme."""
    return "/" in text or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text) is not None
