"""Topics of Kafka, made and widened with the admin client of Spark's connector."""

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession


class Topics:
    """The topics of a broker."""

    def __init__(self, spark: SparkSession, broker: str) -> None:
        jvm: Any = spark._jvm  # type: ignore[attr-defined]
        settings = jvm.java.util.HashMap()
        settings.put("bootstrap.servers", broker)
        self._admin_package = jvm.org.apache.kafka.clients.admin
        self._optional, self._admin = jvm.java.util.Optional, self._admin_package.Admin.create(settings)

    def make(self, names: Iterable[str], compacted: str) -> None:
        """Makes the topics that do not exist, with two partitions each. One of them is compacted."""
        known = self._admin.listTopics().names().get()
        for name in names:
            if name not in known:
                topic = self._admin_package.NewTopic(name, self._optional.of(2), self._optional.empty())
                if name == compacted:
                    topic = topic.configs({"cleanup.policy": "compact"})
                self._admin.createTopics([topic]).all().get()

    def widen(self, name: str, partitions: int) -> None:
        """Gives a topic more partitions."""
        wider = self._admin_package.NewPartitions.increaseTo(partitions)
        self._admin.createPartitions({name: wider}).all().get()
