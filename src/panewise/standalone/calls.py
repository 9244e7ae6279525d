"""Calls of functions of the caller, which must not call the operator, but may refuse (31.8, 32.2)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from panewise.errors import InputError


class CallGuard:
    """Knows whether a function of the caller may be running.

    Attributes:
        calling: whether one may be running: in a step, a delivery or a commit.
    """

    calling: bool = False

    @contextmanager
    def calls(self) -> Iterator[None]:
        """Marks work that calls functions of the caller."""
        self.calling = True
        try:
            yield
        finally:
            self.calling = False

    def check_outside(self) -> None:
        """Raises InputError if a function of the caller runs within a call of the operator."""
        if self.calling:
            rule = "a function that an operator calls does not call the operator"
            raise InputError("a call within another call", rule, "return first, then make the call")


def refuses(answer: Any) -> bool:
    """Returns whether a downstream has returned False, or the False of NumPy, which is another object."""
    kind = getattr(getattr(answer, "dtype", None), "kind", None)
    return answer is False or (kind == "b" and answer.shape == () and not answer)
