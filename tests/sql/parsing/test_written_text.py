"""Each character of a written text has a place in the old one."""

from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.parsing.written_text import Origin, WrittenText, written

OLD = "FROM t |> SELECT total"


def text() -> WrittenText:
    """Returns `SELECT long_name AS total FROM t`, whose name stands for the `total` of the old text."""
    made = written(7, "SELECT ")
    made.copy(OLD, TextSpan(17, 22), {TextSpan(17, 22): "long_name"})
    made.add(" AS ", 22)
    made.copy(OLD, TextSpan(17, 22))
    made.add(" ", 22)
    made.copy(OLD, TextSpan(0, 6))
    return made


def test_characters_have_places() -> None:
    made = text()
    assert made.sql == "SELECT long_name AS total FROM t"
    assert [made.place_of(made.sql.index(word)) for word in ("SELECT", "total", "FROM")] == [7, 17, 0]
    assert made.place_of(made.sql.index("t", 26)) == 5


def test_characters_that_are_not_copied_have_the_place_that_they_are_about() -> None:
    made = text()
    assert {made.place_of(offset) for offset in range(7)} == {7}
    # a name that is longer than what it stands for reaches no further
    assert {made.place_of(offset) for offset in range(7, 16)} == {17}


def test_only_copied_characters_are_covered() -> None:
    made = text()
    assert [place for place in range(len(OLD)) if made.covers(place)] == [*range(6), *range(17, 22)]


def test_an_error_shows_the_old_text() -> None:
    made, origin = text(), Origin(OLD)
    for word, shown in (("long_name", "t"), ("total", "total"), ("FROM t", "FROM t")):
        start = made.sql.index(word)
        place = origin.behind(made).place(TextSpan(start, start + len(word)))
        assert OLD[place.start : place.end] == shown


def test_texts_that_are_appended_keep_their_places() -> None:
    made = written(3, "(", text(), ")")
    assert made.place_of(made.sql.index("FROM")) == 0
    assert [made.place_of(at) for at in (0, len(made.sql) - 1)] == [3, 3]
    assert WrittenText().place_of(5) == 5
