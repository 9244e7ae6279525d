"""The text of the page of a demo."""

from panewise.demo.page import Table, render


def test_pages_escape_what_they_are_given() -> None:
    text = render("<t>", "a & b", "<svg/>", [Table("<c>", ["<h>"], [["<x>"], [True]])])
    for escaped in (
        "<h1>&lt;t&gt;</h1>",
        "a &amp; b",
        "<caption>&lt;c&gt;",
        "<th>&lt;h&gt;",
        "<td>&lt;x&gt;",
        "<td>True",
    ):
        assert escaped in text


def test_numbers_are_aligned_to_the_right() -> None:
    text = render("t", "", "<svg/>", [Table("c", ["h"], [[1200], [1200.46], ["1200"]])])
    numbers = [line for line in text.splitlines() if line.startswith("<tr><td")]
    assert numbers == [
        '<tr><td class="number">1,200</td></tr>',
        '<tr><td class="number">1,200.5</td></tr>',
        "<tr><td>1200</td></tr>",
    ]
