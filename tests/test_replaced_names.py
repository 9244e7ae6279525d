"""Names that others have replaced are found by an error that names the new one."""

import importlib

import pytest

from panewise.replaced_names import REPLACED

NAMES = [(module, old, new) for module, names in REPLACED.items() for old, new in names.items()]


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_a_replaced_name_names_the_new_one(module: str, old: str, new: str) -> None:
    """It does so in `from module import name`, too, and the new name is there."""
    message = rf"{module}\.{old} \| another name has replaced this one \| use {module}\.{new}"
    with pytest.raises(ImportError, match=message):
        exec(f"from {module} import {old}", {})
    with pytest.raises(ImportError, match=message):
        getattr(importlib.import_module(module), old)
    exec(f"from {module} import {new}", {})


# The last one has no replaced names, and imports some of its names when they are first used.
@pytest.mark.parametrize("module", [*REPLACED, "panewise.standalone"])
def test_any_other_name_is_missing_as_in_every_module(module: str) -> None:
    assert not hasattr(importlib.import_module(module), "no_such_name")
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec(f"from {module} import no_such_name", {})
