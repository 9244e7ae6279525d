"""The public names of panewise, by the page of the reference that has them.

A page has a hand-written part with examples, which tests run. Behind the line `MARK` it has a directive for
each name, from which the site's generator makes the text of its docstring.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.public_names import MODULES, NOT_LISTED, _module, _own_names

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "reference" / "api"
MARK: Final = "<!-- `make names` writes what follows. -->"

# Names of `panewise` by the module that defines them, the longest beginning first.
_BY_DEFINITION: Final = {
    "panewise.chrono": "time",
    "panewise.errors": "errors",
    "panewise.spec.aggregates": "aggregates",
    "panewise.spec.conditions": "joins",
    "panewise.spec.evictors": "windows",
    "panewise.spec.frames": "over",
    "panewise.spec.operators": "operators",
    "panewise.spec.operators.join": "joins",
    "panewise.spec.operators.cogroup": "joins",
    "panewise.spec.operators.over": "over",
    "panewise.spec.operators.policy": "policy-windows",
    "panewise.spec.source_position": "time",
    "panewise.spec.timers": "time",
    "panewise.spec.triggers": "triggers",
    "panewise.spec.watermarks": "time",
    "panewise.spec.window_spec": "over",
    "panewise.spec.windows": "windows",
}
_OTHER: Final = "operators"
# Names of all other modules.
_BY_MODULE: Final = {
    "panewise.error_codes": "errors",
    "panewise.functions": "functions",
    "panewise.observe": "spark",
    "panewise.policies": "triggers",
    "panewise.spark": "spark",
    "panewise.spark.compat": "spark",
    "panewise.sql": "sql",
    "panewise.standalone": "standalone",
    "panewise.stores": "stores",
    "panewise.streamwindow": "policy-windows",
    "panewise.testing": "testing",
    "panewise.testing.dataframes": "testing",
    "panewise.testing.strategies": "strategies",
}


@dataclass(frozen=True)
class PublicName:
    """A public name of a module, with its value."""

    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        """The name with its module."""
        return f"{self.module}.{self.name}"

    @property
    def page(self) -> str:
        """The name of its page."""
        if self.module != "panewise":
            return _BY_MODULE[self.module]
        defined = getattr(self.value, "__module__", "")
        starts = [start for start in _BY_DEFINITION if f"{defined}.".startswith(f"{start}.")]
        return _BY_DEFINITION[max(starts, key=len)] if starts else _OTHER

    @property
    def other_name(self) -> str | None:
        """The name under which the value was defined, if it is another one."""
        own = getattr(self.value, "__name__", self.name)
        return own if own != self.name and not inspect.ismodule(self.value) else None


def public_names() -> Iterator[PublicName]:
    """Yields the public names of all public modules."""
    for name in MODULES:
        module = _module(name)
        for public in getattr(module, "__all__", None) or _own_names(module):
            value = getattr(module, public)
            if f"{name}.{public}" not in NOT_LISTED and not inspect.ismodule(value):
                yield PublicName(name, public, value)


def pages() -> Iterator[tuple[Path, str]]:
    """Yields the pages of the reference, each with its text."""
    names = [*public_names()]
    for page in dict.fromkeys(name.page for name in names):
        path = FOLDER / f"{page}.md"
        written = path.read_text(encoding="utf-8") if path.is_file() else f"# {page.title()}\n\n"
        listed = "\n".join(_entries([name for name in names if name.page == page]))
        yield path, f"{written.partition(MARK)[0].rstrip()}\n\n{MARK}\n\n{listed}"


def _entries(names: list[PublicName]) -> Iterator[str]:
    """Yields the lines of names. Of a value with several names only the first has a text."""
    shown: dict[int, str] = {}
    for name in names:
        first = shown.setdefault(id(name.value), name.full)
        if name.other_name is not None:
            yield f"## {name.full}\n\nAnother name of `{name.other_name}`.\n"
        elif first != name.full:
            yield f"## {name.full}\n\nThe same as `{first}`.\n"
        else:
            yield f"::: {name.full}\n"
