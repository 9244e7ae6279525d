"""Small texts that are stored beside Spark's checkpoint, such as records of the query.

Texts are only added: Spark adds one as a whole or not at all, on every file system that it writes to.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.errors import StateError
from panewise.spark.session.failures import cause_of, spark_errors
from panewise.spark.sinks.paths import exists


def add_text(session: SparkSession, folder: str, text: str) -> None:
    """Adds a text to those of a directory, which is made if it is missing."""
    one_text(session, text).write.mode("append").text(folder)


def one_text(session: SparkSession, text: str) -> DataFrame:
    """Returns one row of text.

    It comes from a statement, for which Spark starts no job. It would start one for createDataFrame.
    """
    return session.sql("SELECT 1").select(F.lit(text).alias("value"))


def texts_of(session: SparkSession, checkpoint: str, folder: str) -> list[str]:
    """Returns the texts of a directory of a checkpoint, in no order; none if there is no such directory.

    Raises:
        StateError: if one cannot be read.
    """
    path = f"{checkpoint}/{folder}"
    if not exists(session, path):
        return []
    try:
        rows = session.read.text(path, wholetext=True).collect()
    except spark_errors() as error:
        rule = f"a checkpoint has a record of its query, which cannot be read: {cause_of(error)}"
        remedy = "put back the files from a copy, or start from a new checkpoint"
        raise StateError(f"the checkpoint {checkpoint}", rule, remedy) from error
    return [row[0] for row in rows]
