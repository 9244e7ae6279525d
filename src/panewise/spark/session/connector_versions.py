"""The packages that connect Spark with Kafka, Delta and other systems, for each version of PySpark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from panewise.errors import SetupError


@dataclass(frozen=True)
class Connector:
    """A package that a session needs for a source or a sink.

    Attributes:
        format: the data source that it contains.
        coordinates: what to put on `spark.jars.packages`, by the minor version of PySpark.
        settings: settings that the session needs from its start.
    """

    format: str
    coordinates: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)


_KAFKA: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
CONNECTORS: Final = {
    # Spark publishes no connector for 4.3. That of 4.2 works there.
    "kafka": Connector(
        "kafka", {"4.1": f"{_KAFKA}:4.1.1", "4.2": f"{_KAFKA}:4.2.0", "4.3": f"{_KAFKA}:4.2.0"}
    ),
    "delta": Connector(
        "delta",
        {"4.1": "io.delta:delta-spark_4.1_2.13:4.4.0", "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0"},
        {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        },
    ),
}


def minor(version: str) -> str:
    """Returns the minor version of a version: "4.2" of "4.2.0"."""
    return ".".join(version.split(".")[:2])


def connectors(spark_version: str | None = None) -> dict[str, str]:
    """Returns the coordinates of connectors for a version of Spark, to put on `spark.jars.packages`.

    They are the versions with which panewise is tested.

    Args:
        spark_version: a version such as "4.2.0". Default: that of the installed PySpark.

    Returns:
        The coordinates by the name of the connector, "kafka" or "delta". A connector that is not built for
        this version is missing.

    >>> connectors("4.1.4")["delta"]
    'io.delta:delta-spark_4.1_2.13:4.4.0'
    """
    version = minor(spark_version or pyspark.__version__)
    every = {name: connector.coordinates.get(version) for name, connector in CONNECTORS.items()}
    return {name: coordinate for name, coordinate in every.items() if coordinate is not None}


def check_connectors(session: SparkSession, names: Sequence[str]) -> None:
    """Checks that a session has connectors, and the settings that they need.

    Raises:
        SetupError: if one is missing. The error says what to start the session with.
    """
    for name in names:
        if name not in CONNECTORS:
            rule = f"the connectors are {', '.join(CONNECTORS)}"
            raise SetupError(f"connectors={names!r}", rule, "give a sequence of these names")
        connector = CONNECTORS[name]
        lacking = [
            f"{key}={value}"
            for key, value in connector.settings.items()
            if value not in (session.conf.get(key, None) or "").split(",")
        ]
        if lacking or not _has_source(session, connector.format):
            rule = f"a session has a package from its start, and this one has no {name} for Spark"
            raise SetupError(f"a session without {name}", rule, _remedy(name, session.version))


def _has_source(session: SparkSession, source: str) -> bool:
    """Returns whether a session knows a data source. One that it knows is refused for want of options."""
    try:
        _ = session.read.format(source).load().schema
    except (PySparkException, Py4JJavaError) as error:
        # The texts of Spark for an unknown source, with and without a hint for this one.
        return not any(text in str(error) for text in ("Failed to find", "DATA_SOURCE_NOT_FOUND"))
    return True


def _remedy(name: str, spark_version: str) -> str:
    """Returns what to do so that sessions of this Spark have a connector."""
    connector, coordinate = CONNECTORS[name], connectors(spark_version).get(name)
    if coordinate is None:
        return f"use PySpark {' or '.join(connector.coordinates)}: none is built for {minor(spark_version)}"
    settings = [f"{key}={value}" for key, value in connector.settings.items()]
    return f"start the session with {', '.join([f'spark.jars.packages={coordinate}', *settings])}"
