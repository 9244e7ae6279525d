"""`panewise sql SCRIPT` runs a script of SQL on Spark, or shows or checks what it would do."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panewise.errors import SetupError, SqlError

if TYPE_CHECKING:
    from panewise.spark.queries.query import WindowQuery
    from panewise.sql.script.application import Application

_POLL_SECONDS = 0.5
_INTERRUPTED = 130  # the exit status of a program that Ctrl-C has ended


def add_command(commands: Any) -> None:
    """Adds the command `panewise sql` to a parser."""
    sql = commands.add_parser(
        "sql",
        help="run a script of SQL on Spark",
        description=(
            "Runs the statements of a script in their order. Each INSERT INTO is a query with a checkpoint, "
            "from which it continues when the script runs again. Progress is shown on standard error. Ctrl-C "
            "stops the queries."
        ),
    )
    sql.add_argument("script", metavar="SCRIPT", help="a file with statements; - reads standard input")
    only = sql.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="only check the script, without Spark")
    only.add_argument("--explain", action="store_true", help="only print what each statement becomes")
    sql.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=(
            "a setting of Spark's session, such as spark.master=local[4], or of panewise. "
            "It takes precedence over SET in the script, and may be repeated"
        ),
    )
    sql.add_argument("--log", metavar="FILE", help="where Spark writes its log; default: standard error")
    sql.add_argument("--quiet", action="store_true", help="show no progress")
    sql.set_defaults(run=run)


def run(namespace: argparse.Namespace) -> int:
    """Runs, checks or explains a script; returns the exit status."""
    from panewise.sql.script.application import compile_script  # noqa: PLC0415 - this loads sqlglot

    name, text = read(namespace.script)
    conf = dict(map(_pair, namespace.conf))
    try:
        application = compile_script(text, conf)
        if namespace.check:
            return 0
        if namespace.explain:
            print(application.explain())
            return 0
        return _on_spark(application, _Display(quiet=namespace.quiet), namespace.log)
    except SqlError as error:
        place = "" if error.line is None else f":{error.line}:{error.column}"
        print(f"{name}{place}: {error}", file=sys.stderr)
        return 2


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
    try:
        from panewise.spark.session.failures import QueryError  # noqa: PLC0415 - this loads PySpark
        from panewise.spark.streaming_sql.script_run import ScriptRun  # noqa: PLC0415
        from panewise.spark.streaming_sql.script_session import script_session  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if str(error.name).startswith("panewise"):
            raise
        missing = f"no module {str(error.name).partition('.')[0]}"
        raise SetupError(missing, "a script runs on PySpark", "pip install 'panewise[spark]'") from error
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
        print(f"panewise: {what} failed: {error.reason}", file=sys.stderr)
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
