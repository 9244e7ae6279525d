"""Errors have three parts, also when Spark or Polars has rebuilt them from their message."""

import pytest

from panewise import errors
from panewise.errors import InputError, PanewiseError, SpecError


def test_an_error_is_rebuilt_from_its_message() -> None:
    made = SpecError("size=0", "a size is above zero", "give 1 | 2")
    again = SpecError(str(made))
    assert str(again) == str(made) == "size=0 | a size is above zero | give 1 | 2"
    assert (again.given, again.rule, again.remedy) == ("size=0", "a size is above zero", "give 1 | 2")


def test_what_polars_appends_is_left_out() -> None:
    note = "\n\nThis error occurred in the following context stack:\n\t[1] 'with_columns'"
    error = InputError("row 1 | rows are dicts | give dicts" + note)
    assert str(error) == "row 1 | rows are dicts | give dicts"
    assert error.remedy == "give dicts"


def test_a_message_of_one_part() -> None:
    error = PanewiseError("the worker died")
    assert (error.given, error.rule, error.remedy) == ("the worker died", "", "")


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("SpecError", ValueError),
        ("RefusedNameError", AttributeError),
        ("InputError", ValueError),
        ("SetupError", RuntimeError),
        ("MissingExtraError", ModuleNotFoundError),
        ("ConcurrentCallError", RuntimeError),
        ("DeliveryDisabledError", RuntimeError),
        ("StateError", RuntimeError),
        ("StoreError", RuntimeError),
        ("AggregateOverflowError", ArithmeticError),
    ],
)
def test_an_error_is_also_one_of_python(name: str, base: type[Exception]) -> None:
    """Code that knows nothing of panewise can catch it."""
    kind = getattr(errors, name)
    assert issubclass(kind, PanewiseError)
    assert issubclass(kind, base)


@pytest.mark.parametrize("name", ["DataLossWarning", "IdleTriggerWarning", "ManyWindowsWarning"])
def test_all_warnings_about_specifications_can_be_ignored_at_once(name: str) -> None:
    assert issubclass(getattr(errors, name), errors.SpecWarning)
