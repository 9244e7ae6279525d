"""One Polars thread in a Spark worker: Spark already runs one worker for each core. Imported before anything that imports Polars."""

import os
import sys

if "pyspark.worker" in sys.modules or "pyspark.daemon" in sys.modules:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
