"""Checks of the arguments of standalone operators."""

from collections.abc import Mapping, Sequence

from panewise.choices import check_choice, is_choice
from panewise.errors import InputError
from panewise.families import WRONG_WORDS
from panewise.spec import Inputs, Specification
from panewise.spec.codec.same_aggregates import ADDED_AGGREGATES
from panewise.spec.fields import is_count


def check_input(spec: Specification, name: str | None) -> None:
    """Refuses the name of an input whose watermark the operator does not know (12.5, 40).

    Raises:
        InputError: for such a name.
    """
    known = list(spec.ports)
    watermark = spec.ports[known[0]].watermark
    if len(known) == 1 and isinstance(watermark, Inputs):
        known = list(watermark.names)
    if name is not None and not is_choice(name, known):
        rule = f"the watermarks of this operator are those of {known}"
        raise InputError(f"input={name!r}", rule, "name one of them")


def check_input_of_positions(
    by_input: Mapping[str, object], name: str | None, positions: Sequence[object]
) -> None:
    """Refuses the name of an input beside rows that name theirs, unless it is that of positions.

    >>> check_input_of_positions({"left": ...}, "right", [])
    Traceback (most recent call last):
        ...
    panewise.errors.InputError: input='right' with rows of ['left'] | rows by input name their inputs, ...
    """
    if name is not None and not (positions and name in by_input):
        rule = "rows by input name their inputs, and input= names that of the positions"
        raise InputError(f"input={name!r} with rows of {list(by_input)}", rule, "leave it out")


def check_commits(mode: str, commit_rows: int, *, of_loop: bool) -> None:
    """Refuses commits by rows where only `flush` commits: otherwise no commit would ever happen.

    Args:
        of_loop: whether a loop of asyncio accepts the outputs, so that steps commit.
    """
    if commit_rows != 1 and mode == "standalone" and not of_loop:
        rule = "in mode='standalone' only flush commits"
        raise InputError(f"commit_rows={commit_rows}", rule, "leave it out, or use mode='automatic'")


def check_added(added_aggregates: str, *, stored: bool) -> None:
    """Refuses another value than those of `added_aggregates`, and a value without effect."""
    check_choice("added_aggregates", added_aggregates, ADDED_AGGREGATES)
    if not stored and added_aggregates != "null":
        rule = "aggregates are added to the state in a store, and here is none"
        fault = f"added_aggregates={added_aggregates!r}"
        raise InputError(fault, rule, "give the store, or leave it out")


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


def check_number(name: str, value: object) -> None:
    """Refuses a number that is not whole and above zero."""
    if not is_count(value):
        raise InputError(f"{name}={value!r}", f"{name} is a whole number above zero", "give 1 or more")
