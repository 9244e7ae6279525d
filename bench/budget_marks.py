"""Marks in Spark's Python workers: `bench.budget` lets them start with this file as `sitecustomize`.

It wraps the functions that Spark calls, and writes a line of JSON for each call: when it began and ended, how
long it waited for its input, and how long it worked. It imports nothing that a worker would not import.
"""

import json
import os
import sys
import time
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

FOLDER = "BENCH_BUDGET_MARKS"  # the environment variable with the directory of the lines
# By module: the class, its method, and which argument of the method is the iterator over its input.
_CALLS = {
    "panewise.spark.workers.pack": [("Pack", "__call__", 0)],
    "panewise.spark.workers.processor": [("Processor", "handleInputRows", 1)],
    "panewise.spark.workers.unpack": [("Unpack", "__call__", 0)],
}


def marked(name, function, place):  # type: ignore[no-untyped-def]
    """Returns a function that returns a generator, with its marks."""

    def call(self, *arguments):  # type: ignore[no-untyped-def]
        waits = works = 0.0
        begin = time.time()

        def awaited(batches):  # type: ignore[no-untyped-def]
            nonlocal waits
            while True:
                since = time.perf_counter()
                batch = next(batches, None)
                waits += time.perf_counter() - since
                if batch is None:
                    return
                yield batch

        given = [*arguments]
        given[place] = awaited(iter(given[place]))
        outputs = iter(function(self, *given))
        while True:
            since = time.perf_counter()
            output = next(outputs, None)
            works += time.perf_counter() - since
            if output is None:
                break
            yield output
        line = {"call": name, "begin": begin, "waits": waits, "works": works - waits, "process": os.getpid()}
        with (Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    return call


class _Marking(Loader):
    """Loads a module, then wraps the functions in it."""

    def __init__(self, inner: Loader, name: str) -> None:
        self._inner, self._name = inner, name

    def create_module(self, spec):  # type: ignore[no-untyped-def]
        return self._inner.create_module(spec)

    def exec_module(self, module):  # type: ignore[no-untyped-def]
        self._inner.exec_module(module)
        for kind, method, place in _CALLS[self._name]:
            cls = vars(module)[kind]
            setattr(cls, method, marked(kind, vars(cls)[method], place))


class _Finder(MetaPathFinder):
    """Finds the modules whose functions are wrapped."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        spec: ModuleSpec | None = PathFinder.find_spec(name, path) if name in _CALLS else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Marking(spec.loader, name)
        return spec


if FOLDER in os.environ:
    sys.meta_path.insert(0, _Finder())
