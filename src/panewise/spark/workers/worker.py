"""Prepares the Python workers of Spark. It must be imported before anything that imports Polars."""

import ctypes
import gc
import os
import sys
from functools import cache

_IN_WORKER = "pyspark.worker" in sys.modules or "pyspark.daemon" in sys.modules
_JEMALLOC = "_RJEM_MALLOC_CONF"
# Polars sets these in the driver, and workers inherit the environment of the driver.
_OF_POLARS = ("dirty_decay_ms:500", "muzzy_decay_ms:1000")
_RETENTION = ("dirty_decay_ms:10000", "muzzy_decay_ms:10000")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def retain_memory() -> None:
    """Makes the allocators retain free memory for the next micro-batch.

    The allocator of Polars keeps it for ten seconds, and that of the C library keeps up to 64 MB. Otherwise
    every micro-batch gets memory from the system page by page. That was an eighth of the time of a million
    rows (docs/decisions/0075-measurements.md). Settings of the user take precedence.
    """
    of_user = [
        setting
        for setting in os.environ.get(_JEMALLOC, "").split(",")
        if setting and setting not in _OF_POLARS
    ]
    os.environ[_JEMALLOC] = ",".join([*_RETENTION, *of_user])
    if sys.platform == "linux" and "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, 32 << 20)
            mallopt(_M_TRIM_THRESHOLD, 64 << 20)


if _IN_WORKER:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # Spark already runs one worker for each core
    retain_memory()


@cache
def settle(stage: str = "") -> None:
    """Freezes all objects that exist by now, mostly imported modules: the garbage collector then skips them.

    Every function that Spark calls in a worker calls this first. It acts once for each `stage`, because
    stages import different modules.

    A worker collects garbage after each task (pyspark.daemon). With the modules of Spark, pandas, Arrow and
    Polars that would take 65 ms of a core on which the next stage already runs.
    """
    if _IN_WORKER:
        gc.collect()
        gc.freeze()


def hide_traceback() -> None:
    """Removes the traceback of an error of panewise, so that the worker's report begins with its message.

    The traceback would show code of Spark and panewise, and none of the user's. PySpark reads the variable
    when it reports the error. The worker process then ends, so no other error is affected. Callers catch the
    error themselves: a context would be one more step on the way of each row.
    """
    if _IN_WORKER:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
