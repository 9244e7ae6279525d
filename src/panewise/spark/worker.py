"""What a Python worker of Spark does once. Imported before anything that imports Polars."""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from panewise.errors import PanewiseError

_IN_WORKER = "pyspark.worker" in sys.modules or "pyspark.daemon" in sys.modules
_JEMALLOC = "_RJEM_MALLOC_CONF"
_OF_POLARS = ("dirty_decay_ms:500", "muzzy_decay_ms:1000")  # what Polars sets in the driver, whose environment a worker has
_KEPT = ("dirty_decay_ms:10000", "muzzy_decay_ms:10000")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def keep_memory() -> None:
    """Has memory that is free kept for the next micro-batch: what Polars had for ten seconds, of the others' 64 MB.

    Else every micro-batch gets it from the system anew, page by page, which was an eighth of the time of a million rows
    (docs/performance.md). What the user has set for either goes before.
    """
    told = [one for one in os.environ.get(_JEMALLOC, "").split(",") if one and one not in _OF_POLARS]
    os.environ[_JEMALLOC] = ",".join([*_KEPT, *told])
    if sys.platform == "linux" and "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, 32 << 20)
            mallopt(_M_TRIM_THRESHOLD, 64 << 20)


if _IN_WORKER:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # Spark already runs one worker for each core
    keep_memory()


@cache
def settle(stage: str = "") -> None:
    """Takes what is imported by now out of the garbage collector's sight, once for each `stage`, as stages import different modules.

    Everything that Spark calls in a worker begins with this. A worker collects garbage after each task (pyspark.daemon). With the
    modules of Spark, pandas, Arrow and Polars in sight that takes 65 ms of a core, on which the next stage runs already.
    """
    if _IN_WORKER:
        gc.collect()
        gc.freeze()


@contextmanager
def short_errors() -> Iterator[None]:
    """Makes the message of an error of panewise the first line of the worker's report, without a traceback before it.

    The traceback would show Spark's and panewise's code, none of the user's. PySpark reads the variable when it reports the
    error; the worker process ends with that, so that no other error is concerned.
    """
    try:
        yield
    except PanewiseError:
        if _IN_WORKER:
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise
