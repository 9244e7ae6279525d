"""The command `panewise sql`: what it checks and explains without Spark, and how it runs a script."""

import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.cli import main, sql
from panewise.cli.interruption import Interruption
from panewise.observe.entries import Ended, Started
from panewise.observe.journal_reader import JournalReader
from panewise.observe.micro_batch import MicroBatch
from panewise.spark import observe
from panewise.spark.session.standard_error import log_to
from tests.house.sources import ROOT
from tests.sql.test_application import JOINED

EXAMPLE = ROOT / "examples" / "revenue" / "revenue.sql"
BAD = "CREATE TABLE t USING console;\nINSERT INTO t SELECT 1 FROM nowhere"


def test_the_example_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    """semantics 46.43, 46.47"""
    assert main(["sql", "--check", str(EXAMPLE)]) == 0
    assert main(["sql", "--explain", str(EXAMPLE)]) == 0
    assert "its late rows are written to late_orders" in capsys.readouterr().out


def test_a_wrong_script_names_its_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 46.43, 46.47"""
    script = tmp_path / "job.sql"
    script.write_text(BAD, encoding="utf-8")
    assert main(["sql", "--check", str(script)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"{script}:2:29: a table nowhere | a table is one of the script")
    assert lines[-2:] == ["  INSERT INTO t SELECT 1 FROM nowhere", "                              ^^^^^^^"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(BAD))
    assert main(["sql", "--explain", "-"]) == 2
    assert "<stdin>:2:29" in capsys.readouterr().err


def test_a_warning_names_its_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """semantics 46.159"""
    script = tmp_path / "job.sql"
    script.write_text(JOINED.format("s b ON a.k = b.k"), encoding="utf-8")
    for option in ("--check", "--explain"):
        assert main(["sql", option, str(script)]) == 0
        said = capsys.readouterr().err
        assert said.startswith(f"{script}:5:31: warning: a join of streams without a range of time | ")


def test_wrong_arguments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """semantics 46.47"""
    assert main(["sql", str(tmp_path / "none.sql")]) == 2
    assert "a script is a file of text" in capsys.readouterr().err
    assert main(["sql", "--check", "--conf", "x", str(EXAMPLE)]) == 2
    assert "a setting is KEY=VALUE" in capsys.readouterr().err
    assert main(["sql", "--check", "--explain", str(EXAMPLE)]) == 2
    assert "--check and --explain | a script is checked, explained, or run" in capsys.readouterr().err


def test_a_journal_is_a_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """semantics 46.163"""
    assert main(["sql", "--check", "--journal", str(tmp_path / "new"), str(EXAMPLE)]) == 0
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    assert main(["sql", "--check", "--journal", str(tmp_path / "file"), str(EXAMPLE)]) == 2
    assert "is a file" in capsys.readouterr().err


def test_checking_needs_no_pyspark() -> None:
    """semantics 46.47"""
    code = (
        "import sys; sys.modules['pyspark'] = None; from panewise.cli import main; "
        f"sys.exit(main(['sql', *sys.argv[1:], {str(EXAMPLE)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'panewise[spark]'" in done.stderr


class Query:
    """A query that ends when it has been waited for twice."""

    def __init__(self, watermark: int | None) -> None:
        self.query, self.waits, self.isActive = self, 0, True
        metrics = {"rows_in": 1200, "late": 1, "invalid": None, "panes": 7, "watermark": watermark}
        self.recentProgress = [
            {"runId": "r", "batchId": 3, "observedMetrics": {"panewise": metrics}, "eventTime": {}},
            {"runId": "r", "batchId": 4, "observedMetrics": {}, "numInputRows": 5, "eventTime": {}},
        ]

    def awaitTermination(self, timeout: float) -> bool:
        self.waits += 1
        self.isActive = self.waits < 2
        return not self.isActive

    def exception(self) -> None:
        return None


def test_progress_is_lines_or_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 46.47"""
    queries: Any = {"revenue": Query(1_704_067_200_000_000), "t": Query(None)}
    sql._Display(sys.stderr, quiet=False).wait(Interruption(int), queries)
    lines = capsys.readouterr().err.splitlines()
    figures = "batch 4, rows in 1,205, late 1, invalid 0, panes 7, watermark 2024-01-01 00:00:00Z"
    assert lines[0] == f"table revenue, state running, {figures}"
    assert f"table revenue, state ended, {figures}" in lines
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    sql._Display(sys.stderr, quiet=False).wait(Interruption(int), {"revenue": Query(None)})  # type: ignore[dict-item]
    shown = capsys.readouterr().err
    assert shown.count("\x1b[2A") == 2
    assert "\x1b[Ktable    state    batch  rows in  late  invalid  panes  watermark\n" in shown


def example_in(folder: Path) -> Path:
    """Returns a copy of the example in a folder, with its orders and its outputs."""
    text = EXAMPLE.read_text(encoding="utf-8")
    text = text.replace("'out/", f"'{folder}/").replace("'examples/revenue/", f"'{folder}/")
    (folder / "orders").mkdir()
    for number, path in enumerate(sorted((EXAMPLE.parent / "orders").iterdir()), 1):
        copy = folder / "orders" / path.name
        copy.write_bytes(path.read_bytes())
        os.utime(copy, (number, number))  # Spark reads files in the order of these times
    script = folder / "revenue.sql"
    script.write_text(text, encoding="utf-8")
    return script


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.usefixtures("restored_settings")
def test_the_example_has_its_output(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """semantics 46.40, 46.45 to 46.47"""
    script = str(example_in(tmp_path))
    assert main(["sql", script]) == 0
    output = capfd.readouterr()
    assert output.out.strip() == EXAMPLE.with_name("output.txt").read_text(encoding="utf-8").strip()
    last = [line for line in output.err.splitlines() if line.startswith("table revenue, state ended")][-1]
    assert "rows in 9, late 1, invalid 1," in last
    main_fd, terminal = pty.openpty()
    with os.fdopen(terminal, "w", encoding="utf-8") as standard_error, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", standard_error)
        assert main(["sql", script]) == 0  # it continues, and there is nothing new
        standard_error.flush()
        shown = os.read(main_fd, 65536).decode()
    os.close(main_fd)
    assert "\x1b[" in shown
    assert "watermark" in shown
    assert capfd.readouterr().out.split("\n")[:12] == output.out.split("\n")[:12]


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_a_query_that_fails(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """semantics 46.47"""
    script = tmp_path / "job.sql"
    script.write_text(
        f"""SET panewise.trigger = 'available now';
        CREATE TEMPORARY VIEW o (price DECIMAL(10, 2)) USING json LOCATION '{EXAMPLE.parent}/orders';
        CREATE TABLE t USING memory OPTIONS (checkpoint '{tmp_path}/c');
        INSERT INTO t SELECT raise_error('no price') AS x FROM o""",
        encoding="utf-8",
    )
    assert main(["sql", "--quiet", str(script)]) == 1
    assert "panewise: the query of t failed:" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_a_journal_has_the_queries_of_a_script(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 46.163"""
    script, journal = example_in(tmp_path), tmp_path / "journal"
    assert main(["sql", "--quiet", "--journal", str(journal), str(script)]) == 0
    entries = [*JournalReader(journal).new_entries()]
    assert {type(entry) for entry in entries if entry.query == "revenue"} == {Started, MicroBatch, Ended}
    reports = [entry for entry in entries if isinstance(entry, MicroBatch) and entry.query == "revenue"]
    assert any(figures.activity for report in reports for figures in report.operators.values())
    with observe(spark, journal=journal):
        assert main(["sql", "--quiet", "--journal", str(journal), str(script)]) == 2


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_a_statement_over_a_batch_that_fails(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """semantics 46.47"""
    script = tmp_path / "job.sql"
    script.write_text("SET a = 1;\nSELECT raise_error('no price') AS x", encoding="utf-8")
    assert main(["sql", "--quiet", str(script)]) == 1
    assert "panewise: a statement failed: line 2: [USER_RAISED_EXCEPTION] no price" in capsys.readouterr().err
    (tmp_path / "broken.json").write_text("{broken", encoding="utf-8")
    script.write_text(
        f"""CREATE TEMPORARY VIEW o (a INT)
        USING json OPTIONS (path '{tmp_path}/broken.json', mode 'FAILFAST', streaming 'false');
        CREATE TABLE t USING memory; INSERT INTO t SELECT a FROM o""",
        encoding="utf-8",
    )
    assert main(["sql", "--quiet", str(script)]) == 1
    shown = capsys.readouterr().err
    assert "panewise: a statement failed: line 3:" in shown
    assert "Traceback" not in shown


@pytest.mark.nightly
def test_spark_submit_gives_settings() -> None:
    """semantics 46.91"""
    code = """if True:
        from panewise.spark.streaming_sql.script_session import script_session
        from panewise.sql.script.application import compile_script
        text = "SET spark.sql.session.timeZone = 'Asia/Tokyo'; SET spark.a = 1;"
        session, _ = script_session(compile_script(text, {"spark.a": "2"}))
        names = ("spark.master", "spark.sql.shuffle.partitions", "spark.sql.session.timeZone", "spark.a")
        print(*map(session.conf.get, names))
        """
    submitted = "--master local[1] --conf spark.sql.shuffle.partitions=3 --conf spark.a=0 pyspark-shell"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": submitted},
    )
    assert done.stdout.split() == ["local[1]", "3", "Asia/Tokyo", "2"], done.stderr[-2000:]


RATE = """CREATE TEMPORARY VIEW r USING rate OPTIONS (rowsPerSecond 5);
CREATE TABLE t USING memory OPTIONS (checkpoint '{folder}/c'); INSERT INTO t SELECT value FROM r"""


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_ctrl_c_stops_the_queries(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """semantics 46.47"""
    show, before = sql._Display._show, signal.getsignal(signal.SIGINT)

    def pressed(self: Any, queries: Any) -> None:
        if all(query.lastProgress is not None for query in queries.values()) and not done:
            done.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        show(self, queries)

    done: list[bool] = []
    script = tmp_path / "job.sql"
    script.write_text(RATE.format(folder=tmp_path), encoding="utf-8")
    monkeypatch.setattr(sql._Display, "_show", pressed)
    assert main(["sql", "--quiet", str(script)]) == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert [query.name for query in spark.streams.active if query.name == "t"] == []
    said = "panewise: stopped; t continues from its checkpoint when the script runs again\n"
    assert capsys.readouterr().err == said


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_ctrl_c_cancels_a_statement_over_a_batch(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 46.47"""
    script, jobs = tmp_path / "job.sql", spark.sparkContext.statusTracker()

    def press() -> None:
        while not jobs.getActiveJobsIds():
            pass
        os.kill(os.getpid(), signal.SIGINT)

    script.write_text("SELECT count(*) AS n FROM range(1000000000000) WHERE id % 7 = 8", encoding="utf-8")
    thread = Thread(target=press)
    thread.start()
    assert main(["sql", "--quiet", str(script)]) == 130
    thread.join()
    assert capsys.readouterr().err == "panewise: stopped; no query was running\n"


@pytest.mark.spark
def test_standard_error_of_the_process_is_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """semantics 46.47"""
    with log_to(tmp_path / "log") as stream:
        os.write(2, b"of Spark\n")
        print("of the command", file=stream)
    os.write(2, b"after it\n")
    assert (tmp_path / "log").read_text(encoding="utf-8") == "of Spark\n"
    assert capfd.readouterr().err == "of the command\nafter it\n"
