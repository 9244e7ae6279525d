"""No two active queries write files to one path."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier, Event
from typing import Any

import pytest
from pyspark.errors import PySparkException

from panewise.errors import SpecError
from panewise.spark.queries.active_paths import ActivePaths

RULE = "two queries would replace each other's micro-batches"


@dataclass
class Query:
    isActive: bool = True  # noqa: N815 - PySpark's name


def started(paths: ActivePaths, places: list[str], checkpoint: str, query: Any) -> None:
    with paths.claimed(places, checkpoint) as claim:
        claim.query = query


def test_a_path_of_an_active_query() -> None:
    """semantics 49.59"""
    paths, query = ActivePaths(), Query()
    started(paths, ["/out/a", "/out/b"], "/one", query)
    paths.check(["/out/c"], "/two")
    paths.check(["/out/a"], "/one/")  # the query itself, which Spark stops when it is started again
    refused = f"the path '/out/b', to which the active query with the checkpoint '/one' writes | {RULE}"
    with pytest.raises(SpecError, match=re.escape(refused)):
        paths.check(["/out/c", "/out/b"], "/two")
    with pytest.raises(SpecError, match=RULE):
        paths.check(["/out/a"], None)  # of a batch
    query.isActive = False
    paths.check(["/out/b"], "/two")
    started(paths, ["/out/b"], "/two", Query())
    paths.check(["/out/b"], "/two")


def test_a_query_of_an_ended_session() -> None:
    """semantics 49.59: a closed Connect session refuses to say whether its query is active."""

    class Ended:
        @property
        def isActive(self) -> bool:
            raise PySparkException("the session is closed")

    paths = ActivePaths()
    started(paths, ["/out/a"], "/one", Ended())
    paths.check(["/out/a"], "/two")


def test_a_path_of_a_query_that_starts() -> None:
    """semantics 49.61: until it has started, or failed, and while a batch is written."""
    paths = ActivePaths()

    def fail() -> None:
        with paths.claimed(["/out"], "/one"):
            with pytest.raises(SpecError, match=f"query with the checkpoint '/one' writes .* {RULE}"):
                started(paths, ["/out"], "/two", Query())
            with paths.claimed(["/out"], "/one"):  # Spark decides which of the two runs
                pass
            raise ValueError("no such table")

    with pytest.raises(ValueError, match="no such table"):
        fail()
    with paths.claimed(["/out"], None):
        for checkpoint in ("/one", None):
            with pytest.raises(SpecError, match=f"a query over a batch DataFrame writes .* {RULE}"):
                paths.check(["/out"], checkpoint)
    paths.check(["/out"], "/one")


def test_queries_that_start_at_the_same_time() -> None:
    """semantics 49.61: one of them starts."""
    paths, together, over = ActivePaths(), Barrier(4), Event()

    def start(number: int) -> bool:
        together.wait(60)
        try:
            with paths.claimed(["/out"], f"/{number}"):
                over.wait(60)
        except SpecError:
            refused.append(number)
            if len(refused) == 3:
                over.set()
            return False
        return True

    refused: list[int] = []
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(start, range(4))) == 1


def test_what_is_over_is_forgotten() -> None:
    paths = ActivePaths()
    for _ in range(3):
        started(paths, ["/out"], "/one", Query(isActive=False))
        started(paths, [], "/one", Query())
    assert len(paths._claims) == 1
