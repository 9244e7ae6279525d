"""Retired names are found by an error that names the new one."""

import importlib

import pytest

from panewise.retired import RETIRED

NAMES = [(module, old, new) for module, names in RETIRED.items() for old, new in names.items()]


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_a_retired_name_names_the_new_one(module: str, old: str, new: str) -> None:
    """It does so in `from module import name`, too, and the new name is there."""
    message = rf"{module}\.{old} \| this name is retired \| use {module}\.{new}"
    with pytest.raises(ImportError, match=message):
        exec(f"from {module} import {old}", {})
    with pytest.raises(ImportError, match=message):
        getattr(importlib.import_module(module), old)
    exec(f"from {module} import {new}", {})


@pytest.mark.parametrize("module", RETIRED)
def test_any_other_name_is_missing_as_in_every_module(module: str) -> None:
    assert not hasattr(importlib.import_module(module), "no_such_name")
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec(f"from {module} import no_such_name", {})
