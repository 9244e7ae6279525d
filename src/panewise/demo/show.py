"""The terminal output of the demo: lines, a progress bar and tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from panewise.demo.check import Finding
from panewise.demo.page import Table, is_number, text_of


class Terminal:
    """Writes lines and progress to a stream.

    Args:
        stream: the output. If it is a terminal, a line of progress overwrites the previous one.
        every: the number of batches from one line of progress to the next, if it is not a terminal.
    """

    def __init__(self, stream: TextIO, every: int = 10) -> None:
        self._stream = stream
        self._every = every
        self._reported = 0
        self._open = False

    def say(self, text: str = "") -> None:
        """Writes a line."""
        if self._open:
            self._stream.write("\n")
            self._open = False
        self._stream.write(text + "\n")
        self._stream.flush()

    def progress(self, done: int, total: int, text: str) -> None:
        """Shows that `done` of `total` batches are done, with a text."""
        line = f"  {bar(done, total)} {done:>3}/{total}  {text}"
        if self._stream.isatty():
            self._stream.write(f"\r{line}\x1b[K")
            self._stream.flush()
            self._open = True
        elif done >= self._reported + self._every or self._reported < done == total:
            self._reported = done
            self.say(line)


def bar(done: int, total: int, width: int = 24) -> str:
    """Returns a progress bar of `width` characters between brackets; full if `total` is 0.

    >>> bar(1, 2, width=4)
    '[##..]'
    """
    full = width * done // total if total else width
    return f"[{'#' * full}{'.' * (width - full)}]"


def lines(table: Table) -> list[str]:
    """Returns the table as lines of text. Columns of numbers are aligned to the right.

    >>> lines(Table("counts", ["what", "rows"], [["late", 1200]]))
    ['counts', '  what   rows', '  late  1,200']
    """
    cells = [[text_of(value) for value in row] for row in table.rows]
    widths = [
        max(len(row[column]) for row in (list(table.header), *cells)) for column in range(len(table.header))
    ]
    numeric = [
        bool(cells) and all(is_number(row[column]) for row in table.rows) for column in range(len(widths))
    ]

    def line(row: Sequence[str]) -> str:
        padded = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        )
        return ("  " + "  ".join(padded)).rstrip()

    return [table.caption, line(table.header), *map(line, cells)]


def present(tables: Sequence[Table], findings: Sequence[Finding], picture: Path, terminal: Terminal) -> int:
    """Shows the tables and where the picture is. Returns the exit status: 1 if a finding did not pass."""
    for table in tables:
        terminal.say("\n" + "\n".join(lines(table)))
    terminal.say(f"\npicture  {picture}\npage     {picture.with_name('index.html')}")
    return 0 if all(finding.passed for finding in findings) else 1


def findings_table(findings: Sequence[Finding]) -> Table:
    """Returns the findings as a table, one finding a row."""
    rows = [["OK" if finding.passed else "BROKEN", finding.what, finding.figures] for finding in findings]
    return Table("Checked against a batch computation of the same rows", ["", "what", "figures"], rows)
