"""Where the driver of a session is, and where its tasks run."""

import re

from pyspark.sql import SparkSession


def is_classic(session: object) -> bool:
    """Returns whether the driver of a session is this process, and not a Connect server."""
    return isinstance(session, SparkSession)


def is_local(master: str) -> bool:
    """Returns whether a master runs tasks in the process of the driver.

    >>> is_local("local[2]"), is_local("local-cluster[2,1,1024]"), is_local("spark://host:7077")
    (True, False, False)
    """
    return re.fullmatch(r"local(\[.*\])?", master) is not None
