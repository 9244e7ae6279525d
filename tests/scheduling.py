"""A scheduler of pytest-xdist that runs the two parts of a run beside each other."""

from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.parts import group_of


class _Groups(LoadScopeScheduling):
    """Gives groups to the processes of a part."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.partition("::")[0])

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """A process that takes the place of another one has collected both parts."""
        self.registered_collections[node] = list(collection)


class Parts:
    """A scheduler of pytest-xdist with one for each part, which begins when its processes have collected."""

    def __init__(self, config: pytest.Config, log: Any, workers: int) -> None:
        self._config = config
        self._parts = {"spark": _Groups(config, log), "others": _Groups(config, log)}
        self._parts["spark"].numnodes, self._parts["others"].numnodes = 1, workers - 1

    @property
    def _schedulers(self) -> list[_Groups]:
        return list(self._parts.values())

    def _scheduler(self, node: Any) -> _Groups:
        for scheduler in self._schedulers:
            if node in scheduler.assigned_work:
                return scheduler
        raise KeyError(node)

    @property
    def nodes(self) -> list[Any]:
        return [node for scheduler in self._schedulers for node in scheduler.nodes]

    @property
    def collection_is_completed(self) -> bool:
        return any(scheduler.collection_is_completed for scheduler in self._schedulers)

    @property
    def tests_finished(self) -> bool:
        return all(scheduler.tests_finished for scheduler in self._schedulers)

    @property
    def has_pending(self) -> bool:
        return any(scheduler.has_pending for scheduler in self._schedulers)

    def add_node(self, node: Any) -> None:
        """Adds a process to its part. One that takes the place of another one is added where none is left."""
        spark, others = self._schedulers
        without = spark if not spark.nodes and not spark.tests_finished else others
        self._parts.get(node.workerinput["part"], without).add_node(node)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        self._scheduler(node).add_node_collection(node, collection)
        session: Any = self._config.pluginmanager.get_plugin("session")
        # The progress in percent is that of all parts that have been collected.
        session.testscollected = sum(
            len(next(iter(scheduler.registered_collections.values()), ())) for scheduler in self._schedulers
        )

    def schedule(self) -> None:
        for scheduler in self._schedulers:
            if scheduler.collection_is_completed:
                scheduler.schedule()

    def remove_node(self, node: Any) -> str | None:
        return self._scheduler(node).remove_node(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        self._scheduler(node).mark_test_complete(node, item_index, duration)

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        raise NotImplementedError
