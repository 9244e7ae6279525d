"""One call at a time: what detects that two threads call one object, or that a function calls back.

An object notes in one field which thread is within a call. The field is read and written on entry with no
call of a function in between. CPython changes threads, and handles signals, only at calls of functions and at
backward jumps. So no other thread can come between the two, and no interrupt leaves the field set. See
docs/decisions/0048-one-call-at-a-time.md.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import _DummyThread, current_thread, get_ident
from typing import Any, Final, NoReturn, TypeVar, cast

from panewise.errors import ConcurrentCallError, InputError

F = TypeVar("F", bound=Callable[..., Any])
FREE: Final = 0  # no thread has this identifier


class Calls:
    """Which thread is within a call of an object.

    Args:
        name: what the object is, for errors: "an operator".

    Attributes:
        owner: the identifier of the thread, `FREE` if there is none.
    """

    __slots__ = ("name", "owner")

    def __init__(self, name: str) -> None:
        self.name, self.owner = name, FREE

    @property
    def is_mine(self) -> bool:
        """Whether the present thread is within a call."""
        return self.owner == get_ident()

    @contextmanager
    def within(self) -> Iterator[None]:
        """Marks a call, which is refused within another one."""
        me = get_ident()
        if self.owner:
            self.refuse()
        self.owner = me
        try:
            yield
        finally:
            self.owner = FREE

    @contextmanager
    def released(self) -> Iterator[None]:
        """Lets a function of the caller call the object again, at the end of a call."""
        self.owner = FREE
        try:
            yield
        finally:
            self.owner = get_ident()

    def refuse(self) -> NoReturn:
        """Raises the error for a call within another one."""
        if self.is_mine or _is_of_a_pool():
            rule = f"a function that {self.name} calls does not call it back"
            raise InputError("a call within another call", rule, "return first, then make the call")
        self.refuse_thread()

    def refuse_thread(self) -> NoReturn:
        """Raises the error for a call of another thread than the one that is within a call."""
        rule = f"one call at a time may use {self.name}"
        remedy = "take a lock of your own for each call, and repeat this one"
        raise ConcurrentCallError("a call while another thread is within a call", rule, remedy)


def _is_of_a_pool() -> bool:
    """Returns whether Python has not started the present thread. Polars calls functions of a user in such."""
    return isinstance(current_thread(), _DummyThread)


def one_at_a_time(method: F) -> F:
    """Returns a method that is refused while another call of the object runs.

    The object knows its calls in the field `_calls`.

    >>> class Counter:
    ...     def __init__(self):
    ...         self._calls, self.n = Calls("a counter"), 0
    ...
    ...     @one_at_a_time
    ...     def add(self, of):
    ...         self.n += of()
    >>> counter = Counter()
    >>> counter.add(lambda: 2)
    >>> counter.add(lambda: counter.add(lambda: 1))
    Traceback (most recent call last):
        ...
    panewise.errors.InputError: a call within another call | a function that a counter calls does not ...
    """

    @wraps(method)
    def call(self: Any, /, *args: Any, **named: Any) -> Any:
        calls, me = self._calls, get_ident()
        if calls.owner:
            calls.refuse()
        calls.owner = me
        try:
            return method(self, *args, **named)
        finally:
            calls.owner = FREE

    return cast(F, call)


def one_thread_at_a_time(method: F) -> F:
    """Returns a method that is refused while another thread is within a call of the object.

    Within a call of the same thread it is accepted, as a store may be read for what is put into it.
    """

    @wraps(method)
    def call(self: Any, /, *args: Any, **named: Any) -> Any:
        calls, me = self._calls, get_ident()
        before = calls.owner
        if before and before != me:
            calls.refuse_thread()
        calls.owner = me
        try:
            return method(self, *args, **named)
        finally:
            calls.owner = before

    return cast(F, call)
