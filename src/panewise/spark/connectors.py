"""The packages that connect Spark with Kafka, Delta and other systems, for each version of PySpark."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyspark

from panewise.errors import SetupError


@dataclass(frozen=True)
class Connector:
    """A package of Spark's that a session needs for a source or a sink.

    Attributes:
        name: the name of the connector, which is also that of panewise's extra.
        coordinates: what to put on `spark.jars.packages`, by the minor version of PySpark.
        settings: settings that the session needs from its start.
        format: a data source that the package has.
    """

    name: str
    coordinates: Mapping[str, str]
    format: str
    settings: Mapping[str, str] = field(default_factory=dict)


_KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"
CONNECTORS: Final = {
    connector.name: connector
    for connector in (
        # Spark publishes no connector for 4.3. That of 4.2 works there.
        Connector("kafka", {"4.1": f"{_KAFKA}:4.1.1", "4.2": f"{_KAFKA}:4.2.0", "4.3": f"{_KAFKA}:4.2.0"}, "kafka"),
        Connector(
            "delta",
            {"4.1": "io.delta:delta-spark_4.1_2.13:4.4.0", "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0"},
            "delta",
            {
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            },
        ),
    )
}


def minor(version: str) -> str:
    """Returns the minor version of a version: "4.2" of "4.2.0"."""
    return ".".join(version.split(".")[:2])


def connectors(spark_version: str | None = None) -> dict[str, str]:
    """Returns the coordinates of the connectors for a version of Spark, to put on `spark.jars.packages`.

    They are the versions that the tests of panewise run with.

    Args:
        spark_version: a version such as "4.2.0". Default: that of the installed PySpark.

    Returns:
        The coordinates by the name of the connector, "kafka" or "delta". A connector that is not built for
        this version is not there.

    >>> connectors("4.1.4")["delta"]
    'io.delta:delta-spark_4.1_2.13:4.4.0'
    """
    version = minor(spark_version or pyspark.__version__)
    every = {name: connector.coordinates.get(version) for name, connector in CONNECTORS.items()}
    return {name: coordinate for name, coordinate in every.items() if coordinate is not None}


def remedy(name: str, spark_version: str) -> str:
    """Returns what to do so that sessions of this Spark have a connector."""
    connector, coordinate = CONNECTORS[name], connectors(spark_version).get(name)
    if coordinate is None:
        versions = " or ".join(connector.coordinates)
        return f"use PySpark {versions}; there is no package for Spark {minor(spark_version)}"
    settings = [f"{key}={value}" for key, value in connector.settings.items()]
    together = " and ".join([f"spark.jars.packages={coordinate}", *settings])
    return f"start the session with {together}"


def check_connector_names(names: object) -> tuple[str, ...]:
    """Returns the names of connectors, which are checked."""
    rule = f"the connectors are {', '.join(CONNECTORS)}"
    known = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, list | tuple) else ()
    if not known or not set(known) <= set(CONNECTORS):
        raise SetupError(f"connectors={names!r}", rule, 'give names of these, such as ("delta",)')
    return known
