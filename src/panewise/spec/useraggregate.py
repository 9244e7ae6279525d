"""Aggregates of your own (semantics 24.7, 24.14)."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from panewise.errors import SpecError
from panewise.spec.uservalues import RESULTS, is_json

if TYPE_CHECKING:
    from panewise.spec.aggregates import Aggregate

JsonValue = Any  # what json.loads can return
ResultType: TypeAlias = str  # one of RESULTS


@dataclass(frozen=True)
class UserAggregate:
    """An aggregate of your own.

    :meth:`reduce` and :meth:`fold` make the common kinds of it.

    Args:
        name: the name by which JSON refers to it.
        init: gives the state of no rows. States are JSON values, and are not changed in place.
        accumulate: takes a state and a value (None for a null), gives the next state.
        merge: takes two states, the earlier first, gives the state of both.
        finish: takes a state, gives the result: a value of the type `result`, or None.
        result: type of the result: "bigint", "double", "string", "boolean", or a list of one of these, such as "array<bigint>".
            A double may be given as a whole number.
        commutative: that `merge` gives the same whichever state is the earlier one, and `accumulate` whichever value. Then sliding windows
            merge states, where they would take the rows of each window in the order in which they came.

    >>> longest = UserAggregate("longest", init=lambda: "", accumulate=lambda s, v: max(s, v or "", key=len),
    ...                         merge=lambda a, b: max(a, b, key=len), finish=lambda s: s, result="string")
    >>> longest("word").alias("w").name
    'w'

    Source: semantics 24.7; Beam CombineFn, S4 Accumulation.
    """

    name: str
    init: Callable[[], JsonValue] = field(compare=False, repr=False)
    accumulate: Callable[[JsonValue, Any], JsonValue] = field(compare=False, repr=False)
    merge: Callable[[JsonValue, JsonValue], JsonValue] = field(compare=False, repr=False)
    finish: Callable[[JsonValue], Any] = field(compare=False, repr=False)
    result: ResultType = "double"
    commutative: bool = False

    def __post_init__(self) -> None:
        if self.result not in RESULTS:
            rule = "the result of a user-defined aggregate is bigint, double, string or boolean, or a list of these"
            raise SpecError(f"result={self.result!r}", rule, "give one of these, or such as 'array<bigint>'")
        for part in ("init", "accumulate", "merge", "finish"):
            _check_function(part, getattr(self, part))

    def __call__(self, column: str) -> "Aggregate":
        """The aggregate over a column."""
        from panewise.spec.functions import user  # noqa: PLC0415 - the functions need this class

        return user(self, column)

    @classmethod
    def reduce(
        cls, name: str, fn: Callable[[Any, Any], Any], result: ResultType = "double", *, commutative: bool = False
    ) -> "UserAggregate":
        """Values joined two by two; null without any.

        Args:
            name: the name by which JSON refers to it.
            fn: takes two values, or what it gave for earlier ones, the earlier first. It is associative, as rows that come
                in several batches are joined batch by batch. Nulls are skipped.
            result: type of the values and of the result.
            commutative: that `fn` gives the same whichever value is the earlier one.

        >>> from panewise.testing import result_of
        >>> product = UserAggregate.reduce("product", lambda a, b: a * b, result="bigint")
        >>> result_of(product("v"), [{"v": 2}, {"v": None}, {"v": 3}, {"v": 7}])
        42

        Source: semantics 24.14; S4 ReduceFn.
        """
        _check_function("fn", fn)

        def join(one: Any, other: Any) -> Any:
            return other if one is None else one if other is None else fn(one, other)

        return cls(name, init=lambda: None, accumulate=join, merge=join, finish=lambda state: state, result=result, commutative=commutative)

    @classmethod
    def fold(
        cls,
        name: str,
        initial: JsonValue,
        fn: Callable[[JsonValue, Any], JsonValue],
        combine: Callable[[JsonValue, JsonValue], JsonValue] | None = None,
        result: ResultType | None = None,
        *,
        commutative: bool = False,
    ) -> "UserAggregate":
        """Values taken one by one into a state, which is the result.

        Args:
            name: the name by which JSON refers to it.
            initial: the state of no rows. Each batch of a window begins with a copy of it, so combining it with a state changes nothing.
            fn: takes a state and a value (None for a null), gives the next state.
            combine: takes two states, the earlier first, gives the state of both. Required: windows hold rows of several batches.
            result: type of the state and of the result. Default: that of `initial`, if this is a string, a Boolean or a float.
                A whole number may begin a count or a sum of doubles, and null and lists do not tell a type: then it is required.
            commutative: that the order of values does not matter to `fn`, nor that of states to `combine`.

        Raises:
            SpecError: without `combine`; without `result` where `initial` does not tell it; if `initial` is no JSON value or changes
                what it is combined with.

        >>> from panewise.testing import result_of
        >>> letters = UserAggregate.fold("letters", 0, lambda n, v: n + len(v or ""), combine=lambda a, b: a + b, result="bigint")
        >>> result_of(letters("word"), [{"word": "to"}, {"word": None}, {"word": "be"}])
        4

        Source: semantics 24.14; S4 FoldFn.
        """
        if combine is None:
            rule = "a window holds rows of several batches, and each is folded alone"
            raise SpecError(f"fold({name!r}) without combine", rule, "give combine=, a function of two states, the earlier first")
        _check_function("fn", fn)
        _check_function("combine", combine)
        text = _as_text(name, initial)  # so that nothing shares a mutable initial value
        _check_neutral(name, text, combine)
        init, finish = (lambda: json.loads(text)), (lambda state: state)
        kind = _result_of(name, initial) if result is None else result
        return cls(name, init=init, accumulate=fn, merge=combine, finish=finish, result=kind, commutative=commutative)


def _check_function(name: str, value: Any) -> None:
    if not callable(value):
        raise SpecError(f"{name}={value!r}", f"{name} is a function", f"give a function as {name}")


def _result_of(name: str, initial: JsonValue) -> ResultType:
    """The type of the result of a fold, by its initial state."""
    kind = {str: "string", bool: "boolean", float: "double"}.get(type(initial))
    if kind is None:
        rule = "initial does not tell the type of the result"
        raise SpecError(f"fold({name!r}, initial={initial!r}) without result", rule, "give result=, such as 'bigint' or 'double'")
    return kind


def _as_text(name: str, initial: JsonValue) -> str:
    if not is_json(initial):
        rule = "a state is a JSON value"
        raise SpecError(f"fold({name!r}, initial={initial!r})", rule, "use numbers, strings, lists and dicts with string keys")
    return json.dumps(initial)


def _check_neutral(name: str, text: str, combine: Callable[[JsonValue, JsonValue], JsonValue]) -> None:
    """Catches a value that would be counted once for each batch, such as 100 for a sum."""
    twice = combine(json.loads(text), json.loads(text))
    if twice != json.loads(text):
        given = f"fold({name!r}, initial={text}): combined with itself it gives {twice!r}"
        raise SpecError(given, "initial is the state of no rows, and changes nothing", "give such a value, as 0 for a sum")
