"""The output of the demo in the terminal."""

import io

from panewise.demo.check import Finding
from panewise.demo.page import Table
from panewise.demo.show import Terminal, findings_table, lines


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_in_a_log_is_a_line_now_and_then() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, every=2)
    for done in range(1, 6):
        terminal.progress(done, 5, "March")
    assert [line.split()[-2:] for line in stream.getvalue().splitlines()] == [
        ["2/5", "March"],
        ["4/5", "March"],
        ["5/5", "March"],
    ]


def test_a_batch_that_is_still_the_latest_is_not_shown_twice() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, every=1)
    terminal.progress(1, 5, "0 s")
    terminal.progress(1, 5, "1 s")
    assert len(stream.getvalue().splitlines()) == 1


def test_progress_in_a_terminal_is_one_line() -> None:
    stream = Tty()
    terminal = Terminal(stream)
    terminal.progress(1, 2, "a")
    terminal.progress(2, 2, "b")
    terminal.say("done")
    assert stream.getvalue().count("\n") == 2
    assert stream.getvalue().endswith("\ndone\n")


def test_tables_line_up() -> None:
    assert lines(Table("rows", ["what", "n"], [["late", 1], ["invalid", 12_000]])) == [
        "rows",
        "  what          n",
        "  late          1",
        "  invalid  12,000",
    ]


def test_numbers_are_aligned_to_the_right() -> None:
    assert lines(Table("delays", ["by", "mean"], [["wind", 9.04], ["rain", 1234.5]]))[1:] == [
        "  by       mean",
        "  wind      9.0",
        "  rain  1,234.5",
    ]


def test_a_broken_finding_stands_out() -> None:
    table = findings_table([Finding("a = b", True, "1"), Finding("c = d", False, "2")])
    assert [row[0] for row in table.rows] == ["OK", "BROKEN"]
