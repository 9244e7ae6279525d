"""Errors have three parts, also when Spark or Polars has rebuilt them from their message."""

import copy
import pickle
import subprocess
import sys

import pytest

from panewise import errors
from panewise.errors import InputError, PanewiseError, SpecError, SqlError


def test_an_error_is_rebuilt_from_its_message() -> None:
    """With its code, also if a part of the message has a bar."""
    made = SpecError("size=0", "a duration fits in 64 bits", "give 1 | 2")
    again = SpecError(str(made))
    assert str(again) == str(made) == "size=0 | a duration fits in 64 bits | give 1 | 2 [PW-TIME-002]"
    assert (again.given, again.rule, again.remedy) == ("size=0", "a duration fits in 64 bits", "give 1 | 2")
    barred = SpecError("a | b", "a duration fits in 64 bits", "give 1")
    assert barred.rule == "a duration fits in 64 bits"
    assert str(SpecError(str(barred))) == str(barred)
    assert SpecError(str(barred)).code == barred.code == "PW-TIME-002"


def test_an_error_crosses_processes_with_its_code() -> None:
    """A worker of Spark or of a pool pickles it."""
    sql = "SELECT v FROM t"
    error = SqlError("the table t", "a SELECT has columns", "write one", sql=sql, start=7, end=8)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), SqlError(str(error))):  # noqa: S301
        assert str(again) == str(error)
        assert again.code == error.code


def test_the_code_stands_before_the_place_in_sql() -> None:
    error = SqlError("v", "a SELECT has columns", "write one", sql="SELECT v", start=7, end=8)
    first, place, *_ = str(error).split("\n")
    assert first == f"v | a SELECT has columns | write one [{error.code}]"
    assert place == "line 1, column 8:"


def test_a_rule_of_another_package_has_no_code() -> None:
    error = SpecError("x", "a rule of another package", "ask there")
    assert error.code is None
    assert str(error) == "x | a rule of another package | ask there"


def test_codes_are_read_when_the_first_error_is_shown() -> None:
    probe = (
        "import panewise as pw; from panewise.error_codes import error_codes as read\n"
        "try:\n    pw.Tumbling(0)\nexcept pw.PanewiseError as error:\n"
        "    print(read.cache_info().currsize, error.code, read.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    before, code, after = done.stdout.split()
    assert (before, after) == ("0", "1")
    assert code.startswith("PW-WINDOW-")


def test_what_polars_appends_is_left_out() -> None:
    note = "\n\nThis error occurred in the following context stack:\n\t[1] 'with_columns'"
    error = InputError("row 1 | rows are dicts | give dicts" + note)
    assert str(error).startswith("row 1 | rows are dicts | give dicts")
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
