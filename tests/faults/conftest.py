"""Input files, and the contents of the sinks after runs without faults."""

import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panewise.spark import QueryError
from tests.campaigns import seed_of
from tests.faults.job import Asked, begin
from tests.faults.rounds import SLOW
from tests.faults.sinks import Contents, contents
from tests.faults.stream_files import write_files


def some_files(source: Path, folder: Path, count: int) -> Path:
    """Copies the first files of a directory to `folder`. A call with a higher count adds the next ones."""
    folder.mkdir(exist_ok=True)
    for path in sorted(source.glob("*.parquet"))[:count]:
        if not (folder / path.name).exists():
            shutil.copy2(path, folder / path.name)
    return folder


def without_slow_starts(out: Path, run: Callable[[], object]) -> None:
    """Runs a job without faults. What Spark has ended at its start (SLOW) is deleted, and run anew."""
    for last in (False, False, False, True):
        try:
            run()
            return
        except QueryError as error:
            if last or SLOW not in str(error):
                raise
            shutil.rmtree(out, ignore_errors=True)


class Expected:
    """Runs without faults. Each is run once, when a test first needs it."""

    def __init__(self, spark: SparkSession, factory: pytest.TempPathFactory) -> None:
        self._spark, self._factory = spark, factory
        self._sources: dict[tuple[int, ...], Path] = {}
        self._folders: dict[tuple[str, tuple[int, ...]], Path] = {}

    def source(self, cuts: tuple[int, ...]) -> Path:
        """Returns a directory of input, with one file for each cut."""
        if cuts not in self._sources:
            self._sources[cuts] = write_files(
                self._factory.mktemp("input") / "in", seed=seed_of(sum(cuts)), cuts=cuts
            )
        return self._sources[cuts]

    def folder(self, spec: str, cuts: tuple[int, ...]) -> Path:
        """Returns the folder of the sinks after a run with one micro-batch for each cut."""
        if (spec, cuts) not in self._folders:
            out = self._factory.mktemp("undisturbed") / spec
            without_slow_starts(
                out, lambda: begin(self._spark, str(self.source(cuts)), str(out), spec).awaitTermination()
            )
            self._folders[spec, cuts] = out
        return self._folders[spec, cuts]

    def prepare(self, runs: Iterable[tuple[str, tuple[int, ...]]]) -> None:
        """Makes several runs that are missing, some at the same time."""
        missing = [run for run in dict.fromkeys(runs) if run not in self._folders]
        for _, cuts in missing:
            self.source(cuts)
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(self.folder, *run) for run in missing]:
                done.result()

    def sinks(self, spec: str, cuts: tuple[int, ...]) -> Contents:
        """Returns the contents of the sinks after a run with one micro-batch for each cut."""
        return contents(self.folder(spec, cuts), len(cuts))

    def in_halves(self, spec: str, files: int) -> tuple[Path, Contents]:
        """Returns input of `files` files, and the contents of the sinks after two runs, each of half of them.

        A run ends with a micro-batch without rows, which moves the watermark before the next rows (18.3).
        """
        source, key = self.source((1,) * files), (f"{spec} in halves", (1,) * files)
        if key not in self._folders:
            folder = self._factory.mktemp("halves")
            for count, asked in ((files // 2, Asked("never")), (files, Asked())):
                half = some_files(source, folder / "in", count)
                begin(self._spark, str(half), str(folder / "out"), spec, asked).awaitTermination()
            self._folders[key] = folder / "out"
        return source, contents(self._folders[key], files)

    def __call__(self, spec: str, files: int) -> tuple[Path, Contents]:
        """Returns input of `files` files, and the contents of the sinks if each file is a micro-batch."""
        return self.source((1,) * files), self.sinks(spec, (1,) * files)


@pytest.fixture(scope="session")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    return Expected(spark, tmp_path_factory)
