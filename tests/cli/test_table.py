"""Tables of text."""

from panewise.cli.table import aligned


def test_a_column_is_as_wide_as_its_widest_text() -> None:
    rows = [("table", "rows", "state"), ("orders", "1,024", "ended"), ("t", "7", "-")]
    assert aligned(rows, range(1, 2)) == ["table    rows  state", "orders  1,024  ended", "t           7  -"]


def test_a_line_ends_with_its_last_text() -> None:
    assert aligned([("a", "long text"), ("b", "-")], ()) == ["a  long text", "b  -"]
