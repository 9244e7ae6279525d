"""The identity of a query, by which sinks recognize a repeated micro-batch."""

import json

from pyspark.sql import SparkSession


def query_id(session: SparkSession, checkpoint: str) -> str:
    """Returns the id of the query of a checkpoint: new for a new checkpoint, the same after a restart.

    Spark makes it when it first starts the query, and stores it in the checkpoint, also of a query without
    operators. So it is there in each micro-batch, and not before the first start.
    """
    (row,) = session.read.text(f"{checkpoint}/metadata", wholetext=True).collect()
    return str(json.loads(row[0])["id"])
