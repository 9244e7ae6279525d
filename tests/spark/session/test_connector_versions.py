"""Which connectors a session needs, and what is said if it has none (semantics 49.49)."""

import re
from importlib.metadata import version

import pytest
from pyspark.sql import SparkSession

from panewise import SetupError
from panewise.spark import configure, connectors
from panewise.spark.session.connector_versions import CONNECTORS, check_connectors
from tests.house.sources import ROOT

PAGE = (ROOT / "docs" / "how-to" / "start.md").read_text(encoding="utf-8")


def test_the_page_has_the_versions() -> None:
    for name, connector in CONNECTORS.items():
        built = {
            minor: text
            for minor, text in connector.coordinates.items()
            if f"_{minor}_" in text or ":" + minor in text
        }
        assert built, name
        for minor, coordinate in built.items():
            (row,) = re.findall(rf"^\| {re.escape(minor)} \|.*$", PAGE, re.MULTILINE)
            assert coordinate in row


def test_a_version_without_a_connector_has_none() -> None:
    assert set(connectors("4.3.0")) == {"kafka"}
    assert set(connectors("4.2.0")) == {"kafka", "delta"}


@pytest.mark.parametrize("name", CONNECTORS)
def test_a_missing_connector_is_named(spark: SparkSession, name: str) -> None:
    """The error has the coordinates for the running Spark (semantics 49.49)."""
    with pytest.raises(SetupError, match=rf"a session without {name} \| .* \| ") as raised:
        configure(spark, connectors=[name], check=False)
    coordinate = connectors(version("pyspark")).get(name)
    expected = f"spark.jars.packages={coordinate}" if coordinate else "use PySpark 4.1 or 4.2"
    assert expected in str(raised.value)


def test_an_unknown_connector_is_refused(spark: SparkSession) -> None:
    with pytest.raises(
        SetupError, match=r"connectors=\['pulsar'\] \| the connectors are kafka, delta \| give"
    ):
        check_connectors(spark, ["pulsar"])
