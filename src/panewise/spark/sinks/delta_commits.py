"""The numbers of commits by which Delta recognizes a repeated micro-batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

_APPLICATION: Final = "spark.databricks.delta.write.txnAppId"
_VERSION: Final = "spark.databricks.delta.write.txnVersion"


@contextmanager
def numbered_commits(session: SparkSession, writer: str | None, batch_id: int) -> Iterator[None]:
    """Gives the commits inside the block the number of the micro-batch, under the name of a writer.

    Delta then skips a commit that it already has. Without a writer the commits have no number.

    A streaming query has a session of its own in its micro-batches, so no other query sees these settings.
    """
    if writer is None:
        yield
        return
    session.conf.set(_APPLICATION, writer)
    session.conf.set(_VERSION, str(batch_id))
    try:
        yield
    finally:
        session.conf.unset(_APPLICATION)
        session.conf.unset(_VERSION)
