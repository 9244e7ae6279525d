"""`panewise sql SCRIPT` runs a script of SQL on Spark, or shows or checks what it would do."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from panewise.cli.command import argument
from panewise.cli.command import command as new_command
from panewise.errors import SetupError, SqlError
from panewise.extras import from_extra

if TYPE_CHECKING:
    from panewise.spark.queries.query import WindowQuery
    from panewise.sql.script.application import Application

_POLL_SECONDS = 0.5
_INTERRUPTED = 130  # the exit status of a program that Ctrl-C has ended


@new_command(
    "sql",
    "Runs the statements of a script in their order. Each INSERT INTO is a query with a checkpoint, from "
    "which it continues when the script runs again. Progress is shown on standard error. Ctrl-C stops the "
    "queries.",
    "panewise sql --check job.sql",
    "panewise sql job.sql --conf spark.master=local[4]",
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
    help="where Spark writes its log",
    show_default="standard error",
)
@click.option("--quiet", is_flag=True, help="show no progress")
def command(
    *, script: str, check: bool, explain: bool, conf: tuple[str, ...], log: str | None, quiet: bool
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
        return _on_spark(application, _Display(quiet=quiet), log)


@contextmanager
def compiled(script: str, conf: Mapping[str, str] | None = None) -> "Iterator[Application]":
    """Yields a compiled script. An error of SQL in the block is shown with its place; it ends the command."""
    from panewise.sql.script.application import compile_script  # noqa: PLC0415 - this loads sqlglot

    name, text = read(script)
    try:
        yield compile_script(text, dict(conf or {}))
    except SqlError as error:
        place = "" if error.line is None else f":{error.line}:{error.column}"
        click.echo(f"{name}{place}: {error}", err=True)
        raise click.exceptions.Exit(2) from None


def read(script: str) -> tuple[str, str]:
    """Returns the name and the text of a file, or of standard input for `-`."""
    if script == "-":
        return "<stdin>", sys.stdin.read()
    try:
        return script, Path(script).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            f"{script}: {error}", "a script is a file of text in UTF-8", "give its path"
        ) from None


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise SetupError(f"--conf {text}", "a setting is KEY=VALUE", "write --conf spark.master=local[4]")
    return key, value


def _on_spark(application: "Application", display: "_Display", log: str | None) -> int:
    with from_extra("spark", "a script runs on PySpark"):
        from panewise.spark.session.failures import QueryError  # noqa: PLC0415 - this loads PySpark
        from panewise.spark.streaming_sql.script_run import ScriptRun  # noqa: PLC0415
        from panewise.spark.streaming_sql.script_session import script_session  # noqa: PLC0415
    session, is_new = script_session(application, log)
    run = ScriptRun(session, application, display.wait)
    try:
        run.start()
        display.wait(run.queries)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except QueryError as error:
        failed = next((name for name, query in run.queries.items() if query.exception() is not None), None)
        what = "a statement" if failed is None else f"the query of {failed}"
        click.echo(f"panewise: {what} failed: {error.reason}", err=True)
        return 1
    finally:
        run.stop()
        if is_new:
            session.stop()
    return 0


class _Display:
    """Shows the figures of queries: on a terminal a table drawn again, else lines when they change."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet, self.terminal = quiet, sys.stderr.isatty()
        self.figures: dict[str, Any] = {}
        self.lines = 0

    def wait(self, queries: "Mapping[str, WindowQuery]") -> None:
        """Returns when all queries have ended.

        Raises:
            QueryError: if one has failed. The others are stopped then.
        """
        from panewise.spark.streaming_sql.script_progress import QueryFigures  # noqa: PLC0415 - it loads PySpark

        for name in queries:
            self.figures.setdefault(name, QueryFigures(name))
        running = dict(queries)
        try:
            while running:
                for name, query in [*running.items()]:
                    if query.awaitTermination(_POLL_SECONDS / len(running)):
                        del running[name]
                    self._show(queries)
        finally:
            self._show(queries)
            self.lines = 0

    def _show(self, queries: "Mapping[str, WindowQuery]") -> None:
        from panewise.spark.streaming_sql.script_progress import cells, header  # noqa: PLC0415 - it loads PySpark

        if self.quiet:
            return
        changed = {name: self.figures[name].update(query) for name, query in queries.items()}
        if not self.terminal:
            for name, is_new in changed.items():
                if is_new:
                    pairs = zip(header(), cells(self.figures[name]), strict=True)
                    print(", ".join(f"{title} {cell}" for title, cell in pairs), file=sys.stderr, flush=True)
            return
        rows = [header(), *(cells(self.figures[name]) for name in changed)]
        up = f"\x1b[{self.lines}A" if self.lines else ""
        text = "".join(f"\x1b[K{line}\n" for line in _aligned(rows))
        print(f"{up}{text}", end="", file=sys.stderr, flush=True)
        self.lines = len(rows)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Returns the lines of a table whose numbers are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    align: list[Callable[[str, int], str]] = [str.ljust, str.ljust, *[str.rjust] * 5, str.ljust]
    return [
        "  ".join(do(cell, width) for do, cell, width in zip(align, row, widths, strict=True)).rstrip()
        for row in rows
    ]
