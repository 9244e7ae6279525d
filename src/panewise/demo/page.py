"""Renders a page that explains a run: one self-contained HTML file, which needs no network."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2733; max-width: 72rem; margin: 2rem auto; padding: 0
1rem } svg { width: 100%; height: auto; border: 1px solid #d5dae1 } table { border-collapse: collapse; margin:
0 0 2rem } caption { text-align: left; font-weight: 600; padding: .3rem 0 } th, td { text-align: left;
padding: .15rem .9rem .15rem 0; border-bottom: 1px solid #e5e8ee; vertical-align: top } td.number {
text-align: right; font-variant-numeric: tabular-nums }
"""


@dataclass(frozen=True)
class Table:
    """A table with a caption.

    Numbers are aligned to the right, with thousands separators. Floats have one decimal place.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]


def render(title: str, text: str, drawing: str, tables: Sequence[Table]) -> str:
    """Returns the page as HTML text: heading, paragraphs, drawing, tables.

    Args:
        title: the title and heading of the page. It is escaped.
        text: plain text, with an empty line between two paragraphs. It is escaped.
        drawing: an <svg> element. It is not escaped, so it must be trusted.
        tables: the tables below the drawing. Their texts are escaped.

    >>> page = render("Panes", "a < b", "<svg></svg>",
    ...     [Table("counts", ["what", "rows"], [["late", 1200]])])
    >>> "<p>a &lt; b</p>" in page, '<td class="number">1,200</td>' in page
    (True, True)
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    paragraphs = "".join(f"<p>{escape(' '.join(words.split()))}</p>\n" for words in text.split("\n\n"))
    body = f"<h1>{escape(title)}</h1>\n{paragraphs}<figure>{drawing}</figure>\n{''.join(map(_table, tables))}"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}</body></html>\n'


def is_number(value: object) -> bool:
    """Returns whether a value is shown as a number.

    >>> is_number(1), is_number(1.5), is_number(True), is_number("1")
    (True, True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_of(value: object) -> str:
    """Returns a value as it is shown in a table.

    >>> text_of(1200), text_of(1200.46), text_of("late")
    ('1,200', '1,200.5', 'late')
    """
    if not is_number(value):
        return str(value)
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def _table(table: Table) -> str:
    header = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in table.rows)
    return f"<table><caption>{escape(table.caption)}</caption>\n<tr>{header}</tr>\n{rows}</table>\n"


def _cell(value: object) -> str:
    numeric = ' class="number"' if is_number(value) else ""
    return f"<td{numeric}>{escape(text_of(value))}</td>"
