"""Imports run one way.

error_codes <- errors, chrono, choices, families, matches <- spec <- {oracle | sql | state <- engine} <-
{standalone | {checkpoints | observe} <- spark} <- cli, demo.
The part calls imports errors alone, and stores imports errors, chrono, choices and calls.
The part testing imports all of them, and none of them imports it.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.house.sources import (
    SRC,
    check_each,
    circles,
    files,
    imported,
    imported_at_runtime,
    imported_modules,
    module_of,
    part,
    part_of_module,
    shown,
)

FOUNDATION = {
    "errors",
    "extras",
    "replaced_names",
    "chrono",
    "paths",
    "source_options",
    "choices",
    "families",
    "matches",
    "spec",
}
RUNTIME = FOUNDATION | {"calls", "", "functions", "streamwindow", "state", "stores", "engine"}
FRONT = RUNTIME | {"oracle", "sql", "standalone", "checkpoints", "observe", "spark"}

# part of panewise: the parts that it may import, besides itself. "" is panewise/__init__.py.
MAY_IMPORT = {
    "error_codes": set(),
    "errors": {"error_codes"},
    "extras": {"errors"},
    "calls": {"errors"},
    "replaced_names": {"errors"},
    "chrono": {"errors"},
    "paths": {"errors"},
    "source_options": set(),
    "choices": {"errors"},
    "families": set(),
    "matches": set(),
    "spec": {"errors", "chrono", "choices", "families", "matches"},
    "functions": FOUNDATION,
    "streamwindow": FOUNDATION,
    "": FOUNDATION | {"functions"},
    "oracle": FOUNDATION,
    "sql": FOUNDATION | {"functions"},
    "state": FOUNDATION,
    "stores": {"errors", "chrono", "choices", "calls"},
    "engine": FOUNDATION | {"state"},
    "observe": FOUNDATION,
    "standalone": RUNTIME | {"sql"},
    "checkpoints": RUNTIME,
    "spark": RUNTIME | {"checkpoints", "observe", "sql"},
    "sizing": {"errors"},
    "cli": FRONT | {"error_codes", "sizing"},
    "__main__": {"cli"},
    "demo": FRONT - {"oracle"},
    "testing": FRONT | {"cli", "demo"},
}

# third-party package: the parts of panewise that may import it
THIRD_PARTIES = {
    "pyspark": {"spark", "demo", "testing"},
    "polars": {"state", "engine", "standalone", "checkpoints", "spark", "demo", "testing"},
    "pyarrow": {"state", "engine", "standalone", "checkpoints", "observe", "spark", "demo", "testing"},
    "numpy": {"engine", "spark"},
    "pandas": {"demo", "spark"},
    "psycopg": {"spark"},
    "py4j": {"spark"},  # a dependency of pyspark, which does not wrap its errors
    "matplotlib": {"demo"},
    "xxhash": {"state", "engine", "checkpoints", "spark"},
    "sortedcontainers": {"standalone", "stores"},
    "click": {"cli"},
    "rocksdict": {"checkpoints", "stores"},
    "sqlglot": {"sql"},
    "prometheus_client": {"observe"},
    "hypothesis": {"testing"},
    "yaml": {"testing"},
    "pytest": {"testing"},  # only the plugin, which pytest loads
}
STANDARD_LIBRARY_ONLY = FOUNDATION | {"", "functions", "streamwindow", "oracle"}


def test_every_part_of_the_house_has_a_rule() -> None:
    assert {part(path) for path in files()} <= set(MAY_IMPORT)


def other_parts(path: Path) -> set[str]:
    """Returns the other parts of panewise that a file imports."""
    inner = {part_of_module(name) for name in imported(path) if name.split(".")[0] == "panewise"}
    return inner - {part(path)}


def parts_not_allowed(path: Path) -> list[str]:
    wrong = sorted(other_parts(path) - MAY_IMPORT[part(path)])
    return [f"{shown(path)}: may not import the part {name} of panewise" for name in wrong]


def test_imports_run_one_way() -> None:
    check_each(files(), parts_not_allowed)


def third_parties_not_allowed(path: Path) -> Iterator[str]:
    packages = {name.split(".")[0] for name in imported(path)} - {"panewise"} - sys.stdlib_module_names
    for package in sorted(packages):
        if package not in THIRD_PARTIES:
            rule = "a new dependency needs a decision record and a rule here"
        elif part(path) in STANDARD_LIBRARY_ONLY:
            rule = "this part is standard library only"
        elif part(path) not in THIRD_PARTIES[package]:
            rule = f"it belongs to {sorted(THIRD_PARTIES[package])}"
        else:
            continue
        yield f"{shown(path)}: imports {package}; {rule}"


def test_third_parties_stay_where_they_belong() -> None:
    check_each(files(), third_parties_not_allowed)


def test_only_one_file_of_each_demo_imports_pyspark() -> None:
    users = {
        shown(path)
        for path in files()
        if part(path) == "demo" and any(n.split(".")[0] == "pyspark" for n in imported(path))
    }
    assert users <= {"demo/job.py", "demo/join/job.py"}


@cache
def parts_imported() -> dict[str, set[str]]:
    """Returns for each part of panewise the other parts that its files import."""
    found: dict[str, set[str]] = {}
    for path in files():
        found.setdefault(part(path), set()).update(other_parts(path))
    return found


def test_oracle_and_engine_share_no_rule() -> None:
    of = parts_imported()
    assert of["oracle"] & (of["engine"] | of["state"] | {"engine", "state"}) <= FOUNDATION
    assert "oracle" not in of["engine"] | of["state"] | of["spark"]


def test_no_part_reaches_itself() -> None:
    assert circles(parts_imported()) == []


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == ["b -> c -> b", "d -> d"]
    assert circles({"a": {"b", "c"}, "b": {"c"}}) == []


# Imports for annotations alone that would be circles, and why they are needed.
FOR_ANNOTATIONS = {
    ("spec.operators.chain", "spec.operators.windows"): "a window operator has `then`, which makes chains",
    ("spec.operators.windowed_join", "spec.operators.join.operator"): "a join has `then`, too",
    ("spark.results.rows_between", "spark.results.operator_result"): "a result has rows, which have a result",
}


def modules(imports: Callable[[Path], Iterable[str]]) -> dict[str, set[str]]:
    """Returns for each module of panewise the modules of panewise that it imports."""
    names = {module_of(path).partition(".")[2]: path for path in files()}
    return {
        name: {one.partition(".")[2] for one in imports(path)} & set(names) - {name, ""}
        for name, path in names.items()
    }


def test_no_module_reaches_itself() -> None:
    """Also not over imports in functions. Only imports for annotations alone may be circles."""
    assert circles(modules(imported_at_runtime)) == []


def test_circles_of_annotations_are_those_that_are_known() -> None:
    found = modules(imported_modules)
    for name, other in FOR_ANNOTATIONS:
        found[name].remove(other)
    assert circles(found) == []
    for name, other in FOR_ANNOTATIONS:
        assert circles({**found, name: found[name] | {other}}), f"{name} -> {other} is no circle"


def test_imports_for_annotations_alone_are_not_those_at_runtime() -> None:
    chain, operators = SRC / "spec/operators/chain.py", "panewise.spec.operators.windows"
    assert operators in set(imported(chain)) - set(imported_at_runtime(chain))
    assert "panewise.spec.families.windows" in imported_at_runtime(SRC / "spec/families/chain.py")
