"""What a Python worker of Spark does once. Imported before anything that imports Polars."""

import gc
import os
import sys
from functools import cache

_IN_WORKER = "pyspark.worker" in sys.modules or "pyspark.daemon" in sys.modules

if _IN_WORKER:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # Spark already runs one worker for each core


@cache
def settle() -> None:
    """Takes what is imported by now out of the garbage collector's sight; everything that Spark calls in a worker begins with this.

    A worker collects garbage after each task (pyspark.daemon). With the modules of Spark, pandas, Arrow and Polars in sight
    that takes 65 ms of a core, on which the next stage runs already.
    """
    if _IN_WORKER:
        gc.collect()
        gc.freeze()
