"""The public names: a list of them, their documentation, and the version."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

import pytest

import panewise
from panewise import errors, policies
from tests.house.sources import ROOT, check_each
from tools import public_names

LIST = ROOT / "tests" / "house" / "public_names.txt"
MODULES = (
    "panewise",
    "error_codes",
    "functions",
    "observe",
    "spark",
    "spark.compat",
    "sql",
    "standalone",
    "stores",
    "streamwindow",
    "testing",
    "testing.dataframes",
    "testing.strategies",
)
CONSTANTS = {"UNLIMITED"}


def module(name: str) -> ModuleType:
    return panewise if name == "panewise" else import_module(f"panewise.{name}")


PUBLIC = [(name, one) for name in MODULES for one in module(name).__all__ if one not in CONSTANTS]


def test_the_list_of_public_names_is_that_of_the_code() -> None:
    listed = set(LIST.read_text(encoding="utf-8").splitlines())
    found = set(public_names.lines())
    changes = [
        *(f"- {line}" for line in sorted(listed - found)),
        *(f"+ {line}" for line in sorted(found - listed)),
    ]
    assert not changes, "the public interface has changed: run `make names`\n" + "\n".join(changes)


def test_the_list_shows_what_a_user_sees() -> None:
    """A change of a name, a parameter, a default or a base class changes a line."""

    class Base:
        def __init__(self, size: "int | None" = None) -> None:
            self.size = size

        @property
        def half(self) -> float:
            return (self.size or 0) / 2

    class Derived(Base):
        @classmethod
        def of(cls, *texts: str, last: panewise.Duration | None = None) -> "Derived":
            return cls(len(texts))

        def _hidden(self) -> None: ...

    Base.__module__ = Derived.__module__ = "panewise.somewhere"
    assert list(public_names._of_class("Derived", Derived))[:2] == [
        "Derived class(Base)",
        "Derived.__init__(self, size: int | None = None) -> None",
    ]
    assert set(public_names._of_class("Derived", Derived)) == {
        "Derived class(Base)",
        "Derived.__init__(self, size: int | None = None) -> None",
        "Derived.half property",
        "Derived.of classmethod(*texts: str, last: Duration | None = None) -> Derived",
    }


def undocumented(public: tuple[str, str]) -> Iterator[str]:
    where, name = public
    if not hasattr(module(where), name):
        yield f"{where}.{name} does not exist"
        return
    value = getattr(module(where), name)
    if not inspect.getdoc(value):
        yield f"{where}.{name} has no docstring"
    elif value.__doc__ is None:
        yield f"the docstring of {where}.{name} is inherited"
    # For a class without a docstring, dataclass makes one from the signature.
    elif value.__doc__.startswith(f"{name}("):
        yield f"{where}.{name} has no docstring of its own"


def test_public_names_exist_and_are_documented() -> None:
    check_each(PUBLIC, undocumented)


@pytest.mark.parametrize("where", MODULES)
def test_public_names_are_single(where: str) -> None:
    names = module(where).__all__
    assert len(set(names)) == len(names)


def test_all_errors_and_warnings_are_exported() -> None:
    defined = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert defined >= {"PanewiseError", "SpecWarning"}
    assert defined <= set(panewise.__all__)


def test_presets_are_documented() -> None:
    own = [
        value for value in vars(policies).values() if getattr(value, "__module__", "") == policies.__name__
    ]
    assert len(own) > 5
    assert all(inspect.getdoc(value) for value in own if not value.__name__.startswith("_"))


def test_a_name_means_one_thing() -> None:
    """A name that two modules export is one object, but for functions and the names of PySpark.

    `sql` and `current` are one thing on Spark and in a process.
    """
    known: dict[str, object] = {}
    for where, name in PUBLIC:
        if where not in ("functions", "spark.compat") and name not in ("current", "sql"):
            value = getattr(module(where), name)
            assert known.setdefault(name, value) is value, f"{where}.{name}"


def test_the_version_stands_in_one_place() -> None:
    assert version("panewise") == panewise.__version__


def test_the_changelog_starts_with_this_version() -> None:
    headings = re.findall(
        r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert headings
    assert headings[0] == panewise.__version__
