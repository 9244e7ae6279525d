"""Draws charts as SVG, in light and dark: points on a logarithmic axis, lines, and the way of rows."""

from collections.abc import Iterator, Mapping, Sequence
from math import log10
from typing import Final

from tools.pictures.events import OWN_STYLE, STYLE, text

MARKS: Final = ("left", "missing")  # the classes of the first and the second series


class Log:
    """A logarithmic axis from one value to another, between two points."""

    def __init__(self, first: float, last: float, start: float, end: float) -> None:
        self.first, self.last, self.start, self.end = first, last, start, end

    def at(self, value: float) -> float:
        """Returns the point of a value."""
        share = log10(value / self.first) / log10(self.last / self.first)
        return round(self.start + share * (self.end - self.start), 1)


def framed(title: str, width: int, height: int, parts: Iterator[str]) -> str:
    """Returns a picture with a title."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="pw" {size} role="img" aria-label="{title}">'
    style = f"<style>{STYLE}{OWN_STYLE}</style>"
    paper = f'<rect class="paper" width="{width}" height="{height}"/>'
    return "\n".join([head, style, paper, text(12, 22, title, "title"), *parts, "</svg>"]) + "\n"


def ratios(title: str, series: Sequence[str], rows: Mapping[str, Sequence[float | None]], axis: str) -> str:
    """Draws a line for each name, with a point for each of two series on an axis from 0.5 to 200."""
    scale, top, step = Log(0.5, 200, 290, 730), 78, 24
    bottom = top + step * len(rows)

    def parts() -> Iterator[str]:
        yield from _legend(series)
        for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200):
            name = "watermark" if tick == 1 else "grid"
            yield f'<path class="{name}" d="M{scale.at(tick)} {top - 8}V{bottom}"/>'
            yield text(scale.at(tick), bottom + 16, f"{tick:g}", "faint middle")
        yield text(510, bottom + 33, axis, "faint middle")
        for number, (name, values) in enumerate(rows.items()):
            y = top + step * number + 10
            yield text(12, y + 4, name)
            yield f'<path class="grid" d="M{scale.start} {y}H{scale.end}"/>'
            for mark, value in zip(MARKS, values, strict=True):
                if value is not None:
                    yield f'<circle class="{mark}" cx="{scale.at(value)}" cy="{y}" r="6"/>'

    return framed(title, 760, bottom + 44, parts())


def lines(title: str, series: Mapping[str, Mapping[int, int]], x_name: str, y_name: str) -> str:
    """Draws two series of points with lines between them. Both axes are logarithmic."""
    across, up = Log(100, 1_000_000, 110, 700), Log(1_000, 1_000_000, 290, 80)

    def parts() -> Iterator[str]:
        yield from _legend(list(series))
        for tick in (100, 1_000, 10_000, 100_000, 1_000_000):
            yield f'<path class="grid" d="M{across.at(tick)} 80V290"/>'
            yield text(across.at(tick), 306, f"{tick:,}", "faint middle")
            if tick >= 1_000:
                yield f'<path class="grid" d="M110 {up.at(tick)}H700"/>'
                yield text(102, up.at(tick) + 4, f"{tick:,}", "faint end")
        yield text(405, 324, x_name, "faint middle")
        yield text(12, 70, y_name, "faint")
        for mark, points, below in zip(MARKS, series.values(), (18, -9), strict=True):
            path = "L".join(f"{across.at(x)} {up.at(y)}" for x, y in points.items())
            yield f'<path class="chart-{mark}" d="M{path}"/>'
            for x, y in points.items():
                yield f'<circle class="{mark}" cx="{across.at(x)}" cy="{up.at(y)}" r="5"/>'
                yield text(across.at(x), up.at(y) + below, f"{y:,}", "middle")

    return framed(title, 760, 336, parts())


def _legend(series: Sequence[str]) -> Iterator[str]:
    x = 18.0
    for mark, name in zip(MARKS, series, strict=True):
        yield f'<circle class="{mark}" cx="{x}" cy="42" r="6"/>'
        yield text(x + 13, 46, name)
        x += 40 + len(name) * 6.6


def way(title: str, rows: int, shards: Mapping[int, tuple[int, int, int]]) -> str:
    """Draws how many rows become how many partials, windows and panes in each shard."""
    places = {number: 78 + 74 * place for place, number in enumerate(shards)}
    middle = sum(places.values()) / len(places) + 22
    height = max(places.values()) + 74

    def parts() -> Iterator[str]:
        for x, name in ((58, "input"), (198, "pack"), (342, "shuffle"), (500, "step"), (676, "output")):
            yield text(x, 52, name, "faint middle")
        yield from _box(12, middle - 22, 92, "left", f"{rows:,}", "rows")
        yield from _box(152, middle - 22, 92, "open", f"{sum(of[0] for of in shards.values()):,}", "partials")
        yield _arrow(104, middle, 152, middle)
        for shard, (partials, panes, live) in shards.items():
            y = places[shard]
            yield _arrow(244, middle, 288, y + 22)
            yield from _box(288, y, 108, "open", f"{partials:,} partials", "1 envelope")
            yield _arrow(396, y + 22, 434, y + 22)
            yield from _box(434, y, 132, "open", f"shard {shard}", f"stores {live:,} windows")
            yield _arrow(566, y + 22, 626, y + 22)
            yield from _box(626, y, 100, "on_time", f"{panes:,}", "panes")

    return framed(title, 760, height, parts())


def _box(x: float, y: float, width: int, kind: str, first: str, second: str) -> Iterator[str]:
    colour = "middle" if kind == "open" else f"on {kind} middle"
    yield f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="44" rx="4"/>'
    yield text(x + width / 2, y + 19, first, colour)
    yield text(x + width / 2, y + 35, second, colour)


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path class="arrow" d="M{x} {y}L{to_x - 3} {to_y}m-6 -4l6 4l-6 4"/>'
