"""Tests of scenes: the lanes of windows that overlap, and the times that are shown."""

from panewise.observe.scene import ArrivalRow, Cell, PaneScene

MINUTE = 60_000_000


def scene(*rows: tuple[list[tuple[int | None, int | None]], int | None]) -> PaneScene:
    """Returns a scene with the bounds of the windows of each row in minutes, and its watermark."""

    def micros(minutes: int | None) -> int | None:
        return None if minutes is None else minutes * MINUTE

    return PaneScene(
        [
            ArrivalRow("row", {(micros(start), micros(end)): Cell() for start, end in windows}, micros(mark))
            for windows, mark in rows
        ]
    )


def lanes(of: PaneScene) -> list[list[int]]:
    """Returns the lanes of the windows of each row, by the start of the window."""
    return [[row[bounds] for bounds in of.bounds if bounds in row] for row in of.lanes()]


def test_windows_that_do_not_overlap_share_a_lane() -> None:
    assert lanes(scene(([(0, 1), (1, 2), (5, 6)], None))) == [[0, 0, 0]]


def test_windows_that_overlap_are_in_different_lanes() -> None:
    """A window has one lane in all rows (semantics 15.21)."""
    assert lanes(scene(([(0, 2), (1, 3)], None), ([(1, 3), (2, 4)], None))) == [[0, 1, 0], [0, 1, 0]]


def test_the_window_of_all_times_has_a_lane_of_its_own() -> None:
    assert lanes(scene(([(None, None), (0, 1)], None))) == [[0, 1]]


def test_windows_that_grow_have_the_lanes_of_a_row() -> None:
    """Over all rows they would need too many (semantics 15.21)."""
    growing = scene(*(([(0, 10 + n), (20, 30 + n)], None) for n in range(8)))
    assert {tuple(sorted(row.values())) for row in growing.lanes()} == {(0, 0)}


def test_there_are_not_too_many_lanes() -> None:
    many = scene(([(n, 100 + n) for n in range(20)], None))
    assert max(many.lanes()[0].values()) == 5


def test_the_span_has_windows_and_watermarks() -> None:
    assert scene(([(0, 1), (1, 2)], 5)).span() == (0, 5 * MINUTE)
    assert scene(([], None)).span() == (0, 1)
    assert scene(([(None, None)], 3)).span()[0] == 3 * MINUTE


def test_a_window_that_is_far_away_is_left_out() -> None:
    """Else the others would be too small to be seen (semantics 15.21)."""
    first, last = scene(([(0, 1), (100_000, 100_001), (100_001, 100_002)], 100_001)).span()
    assert first >= (100_001 - 60) * MINUTE
    assert last == 100_002 * MINUTE


def test_short_stretches_do_not_cut_the_watermark_off() -> None:
    """The steps of the watermark count, too."""
    rows = [([(20 * n, 20 * n + 1)], 20 * n) for n in range(20)]
    assert scene(*rows).span() == (0, 381 * MINUTE)
