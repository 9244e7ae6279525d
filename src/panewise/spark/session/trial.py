"""A session that is started only to see whether it works."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from panewise.checkpoints.figures import ShowProgress, silent
from panewise.spark.session.settings import configure


def try_session(connectors: Sequence[str] = (), progress: ShowProgress = silent) -> None:
    """Starts a local session whose workers import panewise, checks that it has the connectors, and stops it.

    Args:
        connectors: the names of the connectors.
        progress: shows which step is being done.

    Raises:
        SetupError: if a worker cannot import panewise, or a connector is missing.
        Exception: of pyspark, if no JVM starts.
    """
    builder = SparkSession.builder.master("local[1]").appName("panewise check")
    builder = builder.config(map={"spark.ui.enabled": "false", "spark.log.level": "OFF"})
    progress("Spark starts", 0.0)
    with builder.getOrCreate() as session:
        progress("a worker imports panewise", 0.5)
        configure(session, connectors=connectors)
        progress("Spark stops", 0.9)
