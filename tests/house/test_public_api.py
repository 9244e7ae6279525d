"""Every public name exists and has a docstring, and the changelog starts with the version."""

import inspect
import re
from importlib.metadata import version

import pytest

import panewise
from panewise import functions
from tests.house.sources import ROOT

CONSTANTS = {"UNLIMITED"}


@pytest.mark.parametrize("name", panewise.__all__)
def test_public_names_exist_and_are_documented(name: str) -> None:
    value = getattr(panewise, name)
    if name in CONSTANTS:
        return
    assert inspect.getdoc(value), f"panewise.{name} has no docstring"
    assert value.__doc__ is not None, f"the docstring of panewise.{name} is inherited"
    # For a class without a docstring, dataclass makes one from the signature.
    assert not value.__doc__.startswith(f"{name}("), f"panewise.{name} has no docstring of its own"


def test_public_names_are_sorted_and_single() -> None:
    assert len(set(panewise.__all__)) == len(panewise.__all__)
    assert sorted(functions.__all__) == functions.__all__


@pytest.mark.parametrize("name", functions.__all__)
def test_functions_are_documented(name: str) -> None:
    assert inspect.getdoc(getattr(functions, name))


def test_the_version_stands_in_one_place() -> None:
    assert version("panewise") == panewise.__version__


def test_the_changelog_starts_with_this_version() -> None:
    headings = re.findall(
        r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert headings
    assert headings[0] == panewise.__version__
