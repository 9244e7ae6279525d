"""All stages of an operator share Python workers."""

import os
from threading import Event, RLock, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise.spark import windowed
from panewise.spark.session import worker_pool
from panewise.spark.session.worker_pool import one_worker_pool
from tests.spark.conftest import Feed, emitted

_NAME = "SPARK_SIMPLIFIED_TRACEBACK"
_SETTING = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"

# Rows are accumulated where they are read, and results are made by the step. The parent of a worker is the
# process that starts all workers of a pool.
pools = pw.UserAggregate(
    "pools",
    init=lambda: 0,
    accumulate=lambda _, value: os.getppid(),
    merge=max,
    finish=lambda first: f"{first} {os.getppid()}",
    result="string",
    commutative=True,
)


@pytest.mark.spark
def test_pack_and_step_have_one_pool(feed: Feed) -> None:
    feed.put((0, "a", 1), (100, "a", 2))
    stream = feed.stream().withWatermark("ts", "1 second")
    panes = windowed(stream, "ts").window(pw.Tumbling("1 minute")).agg(pools("v").alias("pools")).panes
    (text,) = emitted(feed, panes)["pools"]
    first, second = text.split()
    assert first == second


@pytest.mark.spark
def test_the_environment_is_restored(spark: SparkSession) -> None:
    context = spark.sparkContext
    environment = context.environment
    before = dict(environment)
    with one_worker_pool(spark):
        assert context.environment == {**before, _NAME: "1"}
    assert context.environment is environment
    environment[_NAME] = "of the user"
    try:
        with one_worker_pool(spark):
            assert context.environment[_NAME] == "1"
        assert context.environment == {**before, _NAME: "of the user"}
    finally:
        del environment[_NAME]


class _Announced:
    """A lock that says when a thread waits for it."""

    def __init__(self) -> None:
        self._lock, self.waits = RLock(), Event()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.waits.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _Conf:
    def get(self, name: str, default: str) -> str:
        return default


class _Session(SparkSession):
    """A classic session without a JVM."""

    conf: Any = _Conf()
    sparkContext: Any = None  # noqa: N815 - the name in PySpark

    def __init__(self) -> None:
        self.sparkContext = SimpleNamespace(environment={"OF_THE_USER": "1"})


def test_two_threads_build_queries_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one begins while the first one is inside. The functions of both have the variable."""
    session, lock, seen = _Session(), _Announced(), list[dict[str, str]]()
    monkeypatch.setattr(worker_pool, "_ONE_AT_A_TIME", lock)

    def build() -> None:
        with one_worker_pool(session):
            seen.append(dict(session.sparkContext.environment))

    with one_worker_pool(session):
        other = Thread(target=build)
        other.start()
        assert lock.waits.wait(60)
        assert session.sparkContext.environment == {"OF_THE_USER": "1", _NAME: "1"}
        assert not seen
    other.join(60)
    assert seen == [{"OF_THE_USER": "1", _NAME: "1"}]
    assert session.sparkContext.environment == {"OF_THE_USER": "1"}


def test_a_thread_that_makes_another_function_is_not_disturbed() -> None:
    """Spark iterates over the environment while it makes a function of the user."""
    session = _Session()
    names = iter(session.sparkContext.environment)
    with one_worker_pool(session):
        assert [*names] == ["OF_THE_USER"]
    assert session.sparkContext.environment == {"OF_THE_USER": "1"}


def test_a_query_that_is_refused_leaves_no_variable() -> None:
    session = _Session()
    with pytest.raises(ZeroDivisionError), one_worker_pool(session):
        _ = 1 // 0
    assert session.sparkContext.environment == {"OF_THE_USER": "1"}


@pytest.mark.spark
def test_the_setting_of_spark_decides(spark: SparkSession) -> None:
    """Without simplified tracebacks Spark sets no variable for any function."""
    session = spark.newSession()
    session.conf.set(_SETTING, "false")
    with one_worker_pool(session):
        assert _NAME not in session.sparkContext.environment
