"""Draws the pictures of the explanations. Each shows the run that the examples of its page show.

`make names` writes them to docs/pictures; a test compares them.
"""

import doctest
import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from panewise.testing import run
from tools.pictures import charts
from tools.pictures.events import Axis, Bar, Dot, Panel, Step, drawn, of_join, of_windows

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
Names = dict[str, Any]


def names_of(page: Path) -> Names:
    """Runs the examples of a page, and returns the names that they define."""
    names: Names = {}
    with redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"), str(page)):
            exec(compile(example.source, str(page), "single"), names)
    return names


def _windows(names: Names, title: str, axis: Axis, *, by_number: bool = False) -> str:
    spec, events = names["spec"], names["events"]
    steps = of_windows(events, run(spec, events, "engine"), "total", by_number=by_number)
    return drawn(title, [Panel("", steps)], axis)


def _accumulation(names: Names) -> str:
    events = names["events"]
    panels = []
    for mode in ("accumulating", "discarding", "retracting"):
        outputs = run(names["spec"](mode), events, "engine")
        panels.append(Panel(mode, of_windows(events, outputs, "total")))
    return drawn("Three kinds of accumulation", panels, Axis(0, 12, 5))


def _joins(names: Names) -> str:
    events = names["events"]
    steps = of_join(events, run(names["spec"], events, "engine"), ("ordered", "shipped"), "id")
    return drawn("Orders (left) and shipments (right) up to 10 later", [Panel("", steps)], Axis(0, 20, 5))


def _exactly_once(names: Names) -> str:
    steps, before = list[Step](), -1
    for number, totals in names["log"]:
        again = number <= before
        if again:
            steps[-1] = replace(steps[-1], label=f"{number}, crash")
        dots = [Dot(time, str(cups)) for time, cups in names["batches"][number]]
        bars = [Bar(0, 10, "early", str(total)) for total in totals]
        steps.append(Step(f"{number}, repeated" if again else str(number), dots, bars))
        before = number
    return drawn("Micro-batches 0 to 3, and a crash", [Panel("", steps)], Axis(0, 12, 5))


def _how_it_works(names: Names) -> str:
    return charts.way("100,000 rows on their way through two shards", names["rows"].height, names["shards"])


def _performance(_: Names) -> str:
    table = (DOCS / "reference" / "measurements.md").read_text(encoding="utf-8").partition("| Shape |")[2]
    lines = [line.split("|")[1:] for line in table.partition("\n\n")[0].splitlines()[2:]]
    rows = {
        cells[0].strip().replace("`", ""): [float(cells[n]) if cells[n].strip() else None for n in (3, 5)]
        for cells in lines
    }
    series = "Spark's own operator", "transformWithStateInPandas, a call for each key"
    return charts.ratios(
        "The time of others for a million rows, as a multiple of panewise's", series, rows, "times as long"
    )


def _fast_python(names: Names) -> str:
    def about(n: int, **how: bool) -> int:
        return int(float(f"{names['calls'](n, **how):.0e}"))

    series = {
        "one batch": {n: about(n) for n in (100, 1_000, 10_000, 100_000, 1_000_000)},
        "row by row": {n: about(n, by_row=True) for n in (100, 1_000, 10_000)},
    }
    title = "Calls of Python functions, rounded to one digit"
    return charts.lines(title, series, "rows", "calls")


DRAWN: Final[dict[str, Callable[[Names], str]]] = {
    "event-time": partial(_windows, title="Windows of 10, and the watermark", axis=Axis(0, 25, 5)),
    "triggers-and-panes": partial(_windows, title="One window, four panes", axis=Axis(0, 15, 5)),
    "accumulation": _accumulation,
    "row-windows": partial(
        _windows, title="Windows of three rows", axis=Axis(-2, 9, 1, "row number"), by_number=True
    ),
    "sliding": partial(_windows, title="Each row makes a window of 10", axis=Axis(-10, 20, 5)),
    "sessions": partial(_windows, title="Sessions with a gap of 5", axis=Axis(0, 22, 5)),
    "joins": _joins,
    "exactly-once": _exactly_once,
    "fast-python": _fast_python,
    "../how-it-works": _how_it_works,
    "../performance": _performance,
}


def picture(name: str) -> tuple[Path, str]:
    """Returns the file and the text of a picture of :data:`DRAWN`."""
    page = (DOCS / "explanation" / f"{name}.md").resolve()
    return DOCS / "pictures" / f"{page.stem}.svg", DRAWN[name](names_of(page))


def pictures() -> Iterator[tuple[Path, str]]:
    """Yields the file and the text of each picture."""
    yield from map(picture, DRAWN)
