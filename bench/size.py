"""Measures what `panewise size` computes with: `python -m bench.size`.

Each operator runs with micro-batches of few rows, and of many rows with many keys. The
processor time of the driver, the JVM and the Python workers is counted, so another load of the machine
changes it little. The costs of a micro-batch, of a row and of a changed entry follow from the
differences. `--write` stores them in the package.

`--executors 4` runs one operator on a local cluster of so many executors instead, and compares it with
the costs.
"""

import argparse
import json
import os
import platform
import re
import shlex
import statistics
import sys
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from bench import data, session
from bench.processes import core_seconds, forget_most_bytes, most_worker_bytes
from panewise import Window
from panewise import functions as F
from panewise.cli import main as run_command
from panewise.sizing.costs import FILE, Costs, costs
from panewise.sizing.requirements import requirements
from panewise.sizing.workload import OPERATORS, SLIDING, Workload
from panewise.spark import deduplicate, joined, over, windowed

PAGE = Path(__file__).parents[1] / "docs" / "operations" / "sizing.md"
FEW_ROWS, MANY_ROWS = 10_000, 1_000_000
FEW_KEYS, MANY_KEYS = 1_000, 500_000
BATCH_SECONDS = 15  # of event time in a micro-batch
DELAY_SECONDS = 10
BATCHES, WARM_UP = 9, 5  # fewer micro-batches would not fill a state
SHARDS = 2
_TOTALS = [F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("m")]


@dataclass(frozen=True)
class Case:
    """An operator as it is measured: what makes it, and the seconds that `panewise size` is given."""

    build: Callable[[DataFrame], Any]
    window: float
    slide: float | None = None


def _windows(window: Any, aggregates: Any) -> Callable[[DataFrame], Any]:
    return lambda df: windowed(df, event_time="ts").groupBy("k").window(window).agg(*aggregates)


def _over(df: DataFrame) -> Any:
    frame = Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow)
    return over(df, "ts").withColumn("s", F.sum("v").over(frame))


def _join(df: DataFrame) -> Any:
    left, right = df.where("v % 2 = 0"), df.where("v % 2 = 1")
    pairs = joined(left, right, event_time=("ts", "ts")).on("k").within(0, "1 second")
    return pairs.select("k", ("left", "ts", "v"), ("right", "v", "w")).how("inner")


CASES: Mapping[str, Case] = {
    "windows": Case(_windows(pw.Tumbling("1 minute"), _TOTALS), 60),
    "hopping": Case(_windows(pw.Hopping("1 minute", "10 seconds"), _TOTALS), 60, 10),
    "sessions": Case(_windows(pw.Session("2 seconds"), _TOTALS), 2),
    "values": Case(_windows(pw.Tumbling("1 minute"), [F.median("v").alias("m")]), 60),
    "over": Case(_over, 0),
    "deduplicate": Case(lambda df: deduplicate(df, "ts").on("k").within("1 minute"), 60),
    "join": Case(_join, 1),
}


@dataclass(frozen=True)
class Measured:
    """What a micro-batch of a case took, as the median of those after the warm-up.

    Attributes:
        workload: what `panewise size` is given for it.
        core_seconds: processor time.
        state_bytes: stored bytes after it.
        written_bytes: bytes of the change logs in the checkpoint.
        worker_bytes: the most memory of a worker in the run.
    """

    workload: Workload
    core_seconds: float
    state_bytes: float
    written_bytes: float
    worker_bytes: float


def measure(spark: SparkSession, name: str, rows: int, keys: int) -> Measured:
    """Runs a case over all its micro-batches."""
    case, samples = CASES[name], list[float]()

    def sink(panes: DataFrame, _: int) -> None:
        samples.append(core_seconds())
        panes.write.format("noop").mode("overwrite").save()

    with tempfile.TemporaryDirectory(prefix="bench-") as parent:
        folder, checkpoint = Path(parent, "in"), Path(parent, "checkpoint")
        folder.mkdir()
        forget_most_bytes()
        data.write(folder, rows, BATCHES, keys, rows * 60 // BATCH_SECONDS)
        events = session.read(spark, data.Events(folder, rows, BATCHES))
        result = case.build(events.withWatermark("ts", f"{DELAY_SECONDS} seconds"))
        rows_out: DataFrame = getattr(result, result.OUTPUT)
        writer = rows_out.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        reports = [report for report in query.recentProgress if report["numInputRows"] > 0][WARM_UP:]
        written = [_log_bytes(checkpoint, report["batchId"]) for report in reports]
    took = [after - before for before, after in pairwise(samples[:BATCHES])][WARM_UP - 1 :]
    operator = "windows" if name == "hopping" else name
    return Measured(
        Workload(
            operator, rows / BATCH_SECONDS, keys, case.window, case.slide, DELAY_SECONDS, 0, BATCH_SECONDS
        ),
        statistics.median(took),
        statistics.median(_state_bytes(report) for report in reports),
        statistics.median(written),
        most_worker_bytes(),
    )


def _log_bytes(checkpoint: Path, batch: int) -> float:
    """Returns the bytes of the change logs of a micro-batch; those of batch 0 have version 1."""
    return sum(log.stat().st_size for log in checkpoint.glob(f"state/0/*/{batch + 1}.changelog"))


def _state_bytes(report: Any) -> float:
    return float(report["observedMetrics"]["panewise"]["state_bytes"])


@dataclass(frozen=True)
class _Runs:
    """The runs of one operator.

    Attributes:
        few: few rows and few keys.
        many: many rows and many keys.
        few_keys: many rows and few keys, of an operator that has fewer entries then; None for others.
    """

    few: Measured
    many: Measured
    few_keys: Measured | None = None

    @property
    def per_changed(self) -> float:
        """Processor time of a changed entry. `per_row` has that of an operator with an entry for each row."""
        if self.few_keys is None:
            return 0.0
        more = self.many.workload.changed - self.few_keys.workload.changed
        return max(0.0, (self.many.core_seconds - self.few_keys.core_seconds) / more)

    @property
    def per_row(self) -> float:
        """Processor time of a row, without that of changed entries."""
        entries = self.per_changed * (self.many.workload.changed - self.few.workload.changed)
        more = self.many.core_seconds - self.few.core_seconds - entries
        return max(0.0, more / (self.many.workload.rows - self.few.workload.rows))

    @property
    def fixed(self) -> float:
        """Processor time of a micro-batch without rows."""
        few = self.few
        return few.core_seconds - self.per_row * few.workload.rows - self.per_changed * few.workload.changed


def measure_all(spark: SparkSession) -> dict[str, Any]:
    """Returns the costs of all operators, as the package stores them."""

    def run(name: str, rows: int, keys: int) -> Measured:
        measured = measure(spark, name, rows, keys)
        print(name, measured, file=sys.stderr, flush=True)
        return measured

    base = run("windows", FEW_ROWS, FEW_KEYS).worker_bytes  # its workers are new
    run("windows", MANY_ROWS, FEW_KEYS)  # the JVM compiles
    few_keys = run("windows", MANY_ROWS, FEW_KEYS)
    runs = {
        name: _Runs(
            many=run(name, MANY_ROWS, MANY_KEYS),
            few=run(name, FEW_ROWS, FEW_KEYS),
            few_keys=few_keys if name == "windows" else None,
        )
        for name in OPERATORS
    }
    hopping = run("hopping", MANY_ROWS, FEW_KEYS)
    fixed = statistics.median(operator.fixed for operator in runs.values())
    operators = {name: _costs(operator, base) for name, operator in runs.items()}
    further = _further_window(hopping, runs["windows"], fixed)
    for name in SLIDING:
        operators[name]["window_core_seconds"] = further
    return {
        "measured": _machine(),
        "shard_core_seconds": fixed / SHARDS,
        "worker_bytes": base,
        "operators": operators,
    }


def _further_window(hopping: Measured, windows: _Runs, fixed: float) -> float:
    """Returns the processor time of each window of a row after the first one."""
    of = hopping.workload
    first = fixed + of.rows * windows.per_row + of.changed * windows.per_changed
    return max(0.0, (hopping.core_seconds - first) / (of.rows * (of.windows_of_a_row - 1)))


def _costs(run: _Runs, base: float) -> dict[str, float]:
    """Returns the costs of an operator.

    Entries of a small state have more bytes, because runs that are not merged yet are more of it. So their
    size is the geometric mean of a small and a large state.
    """
    many = run.many
    entry = statistics.geometric_mean(
        measured.state_bytes / measured.workload.entries for measured in (run.few, many)
    )
    above = many.worker_bytes - base - many.state_bytes / SHARDS
    return {
        "row_core_seconds": run.per_row,
        "changed_core_seconds": run.per_changed,
        "window_core_seconds": 0.0,
        "entry_bytes": entry,
        "written": many.written_bytes / (many.workload.changed * entry),
        "row_bytes": max(0.0, above / (many.workload.rows / SHARDS)),
    }


def _machine() -> dict[str, Any]:
    """Returns when and where this runs."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "processor": _processor(),
        "load": round(os.getloadavg()[2], 1),
        "python": platform.python_version(),
        "pyspark": pyspark.__version__,
        "panewise": pw.__version__,
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "unknown")


def on_executors(executors: int) -> None:
    """Measures windows on a local cluster of so many executors of one core, beside what the costs say."""
    home = Path(tempfile.mkdtemp(prefix="bench-")) / "spark"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)  # executors write to SPARK_HOME/work
    os.environ["SPARK_HOME"] = str(home)
    spark = session.start(f"local-cluster[{executors},1,1024]", {"spark.executor.memory": "768m"})
    spark.conf.set("spark.sql.shuffle.partitions", str(executors))
    known = costs()
    measure(spark, "windows", FEW_ROWS, FEW_KEYS)  # the JVMs compile
    run = measure(spark, "windows", MANY_ROWS, MANY_KEYS)
    need = requirements([run.workload], known, utilization=1)
    seconds = need.busy * need.cores * BATCH_SECONDS
    seconds += (executors - need.shards) * known.shard_core_seconds
    print(
        f"{executors} executors: {run.core_seconds:.2f} core seconds a micro-batch, computed {seconds:.2f}; "
        f"state {run.state_bytes / 1e6:.1f} MB, computed {need.state_bytes / 1e6:.1f} MB"
    )
    spark.stop()  # executors that outlive the driver print errors


def shown(known: Costs) -> str:
    """Returns the costs as the page shows them."""
    heads = ("`--operator`", "µs a row", "µs a changed entry", "µs a further window of a row")
    heads += ("bytes an entry", "bytes written for each byte of changed entries", "bytes of memory a row")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, cost in known.operators.items():
        seconds = (cost.row_core_seconds, cost.changed_core_seconds, cost.window_core_seconds)
        cells = [*(f"{value * 1e6:.2f}" for value in seconds), f"{cost.entry_bytes:.0f}"]
        cells += [f"{cost.written:.2f}", f"{cost.row_bytes:.0f}"]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    of, fixed, worker = known.measured, known.shard_core_seconds, known.worker_bytes / 1e6
    machine = f"{of['cores']} cores ({of['processor']}; load {of['load']})"
    return "\n".join(
        [
            *lines,
            "",
            f"In addition a micro-batch takes {fixed:.2f} s of a core for each shard, and a worker has",
            f"{worker:.0f} MB with few rows. Measured on {of['date']} on {machine},",
            f"with PySpark {of['pyspark']} and Python {of['python']}.",
        ]
    )


def write(measured: Mapping[str, Any]) -> None:
    """Stores costs in the package, and shows them on the page."""
    FILE.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    costs.cache_clear()
    page = re.sub(
        r"(<!-- costs -->\n\n).*?(\n\n<!-- end of costs -->)",
        lambda found: found[1] + shown(costs()) + found[2],
        PAGE.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    command = re.findall(r"^    \$ panewise (size .+)$", page, re.MULTILINE)[0]
    printed = StringIO()
    with redirect_stdout(printed):
        run_command(shlex.split(command))
    block = f"    $ panewise {command}\n" + textwrap.indent(printed.getvalue(), "    ")
    page = re.sub(r"^    \$ panewise size .+\n(?:    .+\n)*", lambda _: block, page, flags=re.MULTILINE)
    PAGE.write_text(page, encoding="utf-8")


def main() -> None:
    """Measures and prints the costs."""
    parser = argparse.ArgumentParser(prog="python -m bench.size", description="Costs for panewise size.")
    parser.add_argument(
        "--write", action="store_true", help="store the costs in the package, and show them on the page"
    )
    parser.add_argument("--executors", type=int, help="measure windows on so many executors instead")
    asked = parser.parse_args()
    if asked.executors:
        on_executors(asked.executors)
        return
    measured = measure_all(session.start())
    print(json.dumps(measured, indent=2))
    if asked.write:
        write(measured)


if __name__ == "__main__":
    main()
