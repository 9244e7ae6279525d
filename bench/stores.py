"""Measures window stores beside a plain SortedDict, and durable beside memory: `python -m bench.stores`.

All run in one thread, and alternate. The figures are medians of rounds; look at the ratios.
"""

import argparse
import random
import tempfile
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

from sortedcontainers import SortedDict

from panewise.stores import WindowStore

_KEYS, _ROUNDS, _RETENTION = 10_000, 5, "1 hour"
_TIME_STEP, _WINDOW = 10, "1 millisecond"

Rows = list[tuple[str, int, int]]


def drawn(number: int) -> Rows:
    """Returns rows (key, value, time) whose times rise."""
    draw = random.Random(1)
    return [(f"key{draw.randrange(_KEYS)}", place, place * _TIME_STEP) for place in range(number)]


def plain(rows: Rows) -> tuple[float, float]:
    """Returns the seconds of puts and of gets of a SortedDict by time and key."""
    entries: Any = SortedDict()
    start = perf_counter()
    for key, value, time in rows:
        entries[time, key] = value
    between = perf_counter()
    for key, value, time in rows:
        assert entries[time, key] == value
    return between - start, perf_counter() - between


def in_memory(rows: Rows) -> tuple[float, float]:
    """Returns the seconds of puts and of fetches of a window store in memory."""
    return timed(WindowStore(_RETENTION, _WINDOW), rows, len(rows))


def durable(rows: Rows) -> tuple[float, float]:
    """Returns those of a durable window store with a commit for every 1,000 puts."""
    with tempfile.TemporaryDirectory() as directory:
        return timed(WindowStore(_RETENTION, _WINDOW, directory=directory), rows, 1_000)


def timed(store: WindowStore, rows: Rows, commit_every: int) -> tuple[float, float]:
    """Returns the seconds of puts, with commits, and of fetches."""
    start = perf_counter()
    for place in range(0, len(rows), commit_every):
        for key, value, time in rows[place : place + commit_every]:
            store.put(key, value, time=time)
        store.commit()
    between = perf_counter()
    for key, value, time in rows:
        assert store.fetch(key, time=time) == value
    seconds = between - start, perf_counter() - between
    store.close()
    return seconds


STORES: dict[str, Callable[[Rows], tuple[float, float]]] = {
    "SortedDict": plain,
    "in memory": in_memory,
    "durable": durable,
}


def main() -> None:
    """Alternates all stores, and prints their medians and ratios."""
    parser = argparse.ArgumentParser(prog="python -m bench.stores", description="Measures window stores.")
    parser.add_argument("--rows", type=int, default=200_000, help="rows in a round; default: %(default)s")
    rows = drawn(parser.parse_args().rows)
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in STORES}
    for _ in range(_ROUNDS):
        for name, run in STORES.items():
            seconds[name].append(run(rows))
    print("                put, rows/s   fetch, rows/s   put / SortedDict   fetch / SortedDict")
    base = [median(pair[place] for pair in seconds["SortedDict"]) for place in (0, 1)]
    for name, pairs in seconds.items():
        put, fetch = (median(pair[place] for pair in pairs) for place in (0, 1))
        print(
            f"{name:12} {len(rows) / put:14,.0f} {len(rows) / fetch:15,.0f}"
            f" {put / base[0]:18.1f} {fetch / base[1]:20.1f}"
        )


if __name__ == "__main__":
    main()
