"""`panewise sql SCRIPT` runs a script of SQL on Spark, or shows or checks what it would do."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from panewise.cli.command import INTERRUPTED, REFUSED, argument, new_command
from panewise.cli.interruption import Interruption, cancel_jobs, silent_stop
from panewise.cli.table import aligned
from panewise.errors import SetupError, SqlError
from panewise.extras import from_extra

if TYPE_CHECKING:
    from panewise.spark.queries.query import WindowQuery
    from panewise.spark.streaming_sql.script_progress import QueryFigures
    from panewise.spark.streaming_sql.script_run import ScriptRun
    from panewise.sql.script.application import Application

_POLL_SECONDS = 0.5
_NUMBERS = range(2, 7)  # the columns of numbers among the figures of queries


@new_command(
    "sql",
    "Runs the statements of a script in their order. Each INSERT INTO is a query with a checkpoint, from "
    "which it continues when the script runs again. Progress is shown on standard error. Ctrl-C stops the "
    "queries.",
    "panewise sql --check job.sql",
    "panewise sql job.sql --conf spark.master=local[4]",
    "panewise sql job.sql --journal out/journal",
)
@argument("script", "a file with statements; - reads standard input", type=click.Path())
@click.option("--check", is_flag=True, help="only check the script, without Spark")
@click.option("--explain", is_flag=True, help="only print what each statement becomes")
@click.option(
    "--conf",
    multiple=True,
    metavar="KEY=VALUE",
    help="a setting of Spark's session, such as spark.master=local[4], or of panewise. It takes precedence "
    "over SET in the script, and may be repeated",
)
@click.option(
    "--log",
    type=click.Path(),
    metavar="FILE",
    help="where Spark and the loggers of Python write",
    show_default="standard error",
)
@click.option(
    "--journal",
    type=click.Path(file_okay=False, writable=True),
    metavar="DIRECTORY",
    help="where the queries write a journal, which panewise watch DIRECTORY shows",
    show_default="none",
)
@click.option("--quiet", is_flag=True, help="show no progress")
def command(
    *,
    script: str,
    check: bool,
    explain: bool,
    conf: tuple[str, ...],
    log: str | None,
    journal: str | None,
    quiet: bool,
) -> int:
    """Runs, checks or explains a script; returns the exit status."""
    if check and explain:
        raise SetupError(
            "--check and --explain", "a script is checked, explained, or run", "leave one of them out"
        )
    with compiled(script, dict(map(_pair, conf))) as application:
        if check:
            return 0
        if explain:
            click.echo(application.explain())
            return 0
        return _on_spark(application, log, journal, quiet=quiet)


@contextmanager
def compiled(script: str, conf: Mapping[str, str] | None = None) -> "Iterator[Application]":
    """Yields a compiled script. An error of SQL in the block is shown with its place; it ends the command."""
    from panewise.sql.script.application import compile_script  # noqa: PLC0415 - this loads sqlglot

    name, text = read_script(script, "a script is a file of text in UTF-8")
    try:
        application = compile_script(text, dict(conf or {}))
        for warning in application.warnings:
            click.echo(f"{_placed(name, warning)}: warning: {warning}", err=True)
        yield application
    except SqlError as error:
        click.echo(f"{_placed(name, error)}: {error}", err=True)
        raise click.exceptions.Exit(REFUSED) from None


def _placed(name: str, error: SqlError) -> str:
    """Returns the name of a script with the line and the column of an error."""
    return name if error.line is None else f"{name}:{error.line}:{error.column}"


def read_script(script: str, rule: str) -> tuple[str, str]:
    """Returns the name and the text of a file, or of standard input for `-`. `rule` says what the file is."""
    if script == "-":
        return "<stdin>", sys.stdin.read()
    try:
        return script, Path(script).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{script}: {error}", rule, "give its path") from None


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise SetupError(f"--conf {text}", "a setting is KEY=VALUE", "write --conf spark.master=local[4]")
    return key, value


def _on_spark(application: "Application", log: str | None, journal: str | None, *, quiet: bool) -> int:
    """Runs a script. Its messages are on standard error, also if that of the process is a log."""
    if log is None:
        return _run(application, _Display(sys.stderr, quiet=quiet), journal)
    with from_extra("spark", "a script runs on PySpark"):
        from panewise.spark.session.standard_error import log_to  # noqa: PLC0415 - this loads PySpark
    with log_to(Path(log)) as standard_error:
        return _run(application, _Display(standard_error, quiet=quiet), journal)


def _run(application: "Application", display: "_Display", journal: str | None) -> int:
    with from_extra("spark", "a script runs on PySpark"):
        from panewise.spark.queries.observer import observe  # noqa: PLC0415 - this loads PySpark
        from panewise.spark.streaming_sql.script_run import ScriptRun  # noqa: PLC0415
        from panewise.spark.streaming_sql.script_session import script_session  # noqa: PLC0415
    session, is_new = script_session(application)
    interruption = Interruption(partial(cancel_jobs, session))
    run = ScriptRun(session, application, partial(display.wait, interruption), interruption.check)
    observer = None
    try:
        observer = None if journal is None else observe(session, log=False, journal=journal)
        status, said = _outcome(run, display, interruption)
    finally:
        silent = interruption.requested and display.stream is sys.stderr  # else a log has what others write
        with silent_stop(session, is_new=is_new) if silent else nullcontext():
            run.stop()
            if observer is not None:
                observer.close()
            if is_new:
                session.stop()
    if said:
        display.say(f"panewise: {said}")
    return status


def _outcome(run: "ScriptRun", display: "_Display", interruption: Interruption) -> tuple[int, str]:
    """Runs a script until its queries end; returns the exit status, and what is to be said."""
    from panewise.spark.session.failures import QueryError  # noqa: PLC0415 - this loads PySpark

    try:
        with interruption.noted(), _interrupted(interruption):
            run.start()
            display.wait(interruption, run.queries)
    except KeyboardInterrupt:
        return INTERRUPTED, _stopped([name for name, query in run.queries.items() if query.isActive])
    except QueryError as error:
        failed = next((name for name, query in run.queries.items() if query.exception() is not None), None)
        what = "a statement" if failed is None else f"the query of {failed}"
        return 1, f"{what} failed: {error.reason}"
    return 0, ""


@contextmanager
def _interrupted(interruption: Interruption) -> Iterator[None]:
    """Raises KeyboardInterrupt instead of an error that follows Ctrl-C, as that of a cancelled job."""
    try:
        yield
    except Exception:
        interruption.check()
        raise


def _stopped(running: Sequence[str]) -> str:
    """Returns what is said after Ctrl-C, given the tables of the queries that ran."""
    if not running:
        return "stopped; no query was running"
    continues = "continues from its checkpoint" if len(running) == 1 else "continue from their checkpoints"
    return f"stopped; {', '.join(running)} {continues} when the script runs again"


class _Display:
    """Shows the figures of queries: on a terminal a table drawn again, else lines when they change."""

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        self.stream, self.quiet, self.terminal = stream, quiet, stream.isatty()
        self.figures: dict[str, QueryFigures] = {}
        self.lines = 0

    def say(self, text: str) -> None:
        """Writes a line."""
        print(text, file=self.stream, flush=True)

    def wait(self, interruption: Interruption, queries: "Mapping[str, WindowQuery]") -> None:
        """Returns when all queries have ended.

        Raises:
            QueryError: if one has failed. The others are stopped then.
            KeyboardInterrupt: after Ctrl-C.
        """
        from panewise.spark.streaming_sql.script_progress import QueryFigures  # noqa: PLC0415 - it loads PySpark

        for name in queries:
            self.figures.setdefault(name, QueryFigures(name))
        running = dict(queries)
        try:
            with interruption.polled():
                while running:
                    for name, query in [*running.items()]:
                        if query.awaitTermination(_POLL_SECONDS / len(running)):
                            del running[name]
                        interruption.check()
                        self._show(queries)
        finally:
            self._show(queries)
            self.lines = 0

    def _show(self, queries: "Mapping[str, WindowQuery]") -> None:
        from panewise.spark.streaming_sql.script_progress import HEADER, cells  # noqa: PLC0415 - it loads PySpark

        if self.quiet:
            return
        changed = {name: self.figures[name].update(query) for name, query in queries.items()}
        if not self.terminal:
            for name, is_new in changed.items():
                if is_new:
                    pairs = zip(HEADER, cells(self.figures[name]), strict=True)
                    self.say(", ".join(f"{title} {cell}" for title, cell in pairs))
            return
        rows = [HEADER, *(cells(self.figures[name]) for name in changed)]
        up = f"\x1b[{self.lines}A" if self.lines else ""
        text = "".join(f"\x1b[K{line}\n" for line in aligned(rows, _NUMBERS))
        print(f"{up}{text}", end="", file=self.stream, flush=True)
        self.lines = len(rows)
