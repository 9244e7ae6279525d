"""Checks of the arguments of standalone operators."""

from collections.abc import Mapping
from typing import Any

from panewise.errors import InputError
from panewise.families import WRONG_WORDS
from panewise.spec import Inputs
from panewise.spec.fields import is_count


def check_input(spec: Any, name: str | None) -> None:
    """Refuses the name of an input whose watermark the operator does not know (12.5, 40).

    Raises:
        InputError: for such a name.
    """
    known = list(spec.ports)
    if len(known) == 1 and isinstance(spec.ports[known[0]].watermark, Inputs):
        known = list(spec.ports[known[0]].watermark.names)
    if name is not None and name not in known:
        rule = f"the watermarks of this operator are those of {known}"
        raise InputError(f"input={name!r}", rule, "name one of them")


def check_words(call: str, others: Mapping[str, object]) -> None:
    """Refuses arguments that a call does not have, of which `port` and others mean its `input`.

    >>> check_words("finish", {"side": "left"})
    Traceback (most recent call last):
        ...
    panewise.errors.InputError: finish(side='left') | an input is named by input=... |
    write input='left' [PW-LOCAL-002]
    """
    for name, value in others.items():
        if name in WRONG_WORDS:
            fault = f"{call}({name}={value!r})"
            raise InputError(fault, "an input is named by input=...", f"write input={value!r}")
        raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")


def check_number(name: str, value: Any) -> None:
    """Refuses a number that is not whole and above zero."""
    if not is_count(value):
        raise InputError(f"{name}={value!r}", f"{name} is a whole number above zero", "give 1 or more")
