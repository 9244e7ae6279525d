"""A session that is started only to see whether it works."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from panewise.spark.session.settings import configure


def try_session(connectors: Sequence[str] = ()) -> None:
    """Starts a local session whose workers import panewise, checks that it has the connectors, and stops it.

    Raises:
        SetupError: if a worker cannot import panewise, or a connector is missing.
        Exception: of pyspark, if no JVM starts.
    """
    builder = SparkSession.builder.master("local[1]").appName("panewise check")
    for name, value in {"spark.ui.enabled": "false", "spark.log.level": "OFF"}.items():
        builder = builder.config(name, value)
    with builder.getOrCreate() as session:
        configure(session, connectors=connectors)
