"""Writes tumbling windows from files into two Delta tables; can kill itself between a write and the commit.

``python -m tests.connectors.delta_job SOURCE OUT JARS [DIES_AT]``. With DIES_AT the process kills itself in
that micro-batch, after both tables are written. Otherwise it copies the tables to Parquet at its end.
"""

import os
import signal
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from panewise.spark import apply, configure
from tests.connectors.delta_sink import SETTINGS, Tables
from tests.faults.job import CONF
from tests.faults.specs import ALL
from tests.faults.stream_files import DDL

SPEC = "tumbling-accumulating"


def main(source: str, out: str, jars: str, dies_at: str = "") -> None:
    builder = SparkSession.builder.master("local[2]").appName("panewise and Delta")
    for key, value in {**CONF, **SETTINGS, "spark.jars": jars, "spark.local.dir": f"{out}/local"}.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(source)
    sink = Tables(Path(out), int(dies_at) if dies_at else None, _die)
    result = apply(stream.withWatermark("ts", "20 seconds"), ALL[SPEC], finish="at_end")
    result.write(panes=sink, checkpoint=f"{out}/checkpoint", available_now=True).awaitTermination()
    sink.copy(spark)
    spark.stop()


def _die() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
