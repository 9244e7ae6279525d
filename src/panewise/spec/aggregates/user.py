"""User-defined aggregates (semantics 24.7, 24.14, 24.20)."""

import json
from collections.abc import Callable
from typing import Any

from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import Aggregate, default_name
from panewise.spec.aggregates.user_functions import (
    JsonValue,
    ResultType,
    UserFunctions,
    check_arguments,
    check_function,
)
from panewise.spec.aggregates.user_values import is_json
from panewise.spec.column_expressions import ColumnOrName, checked_column


class UserAggregate(UserFunctions):
    """A user-defined aggregate, made of four functions over a state.

    :meth:`reduce` and :meth:`fold` make the common kinds. Called with a column, it returns an aggregate for
    an operator. States are JSON values: None, bool, int, float, str, list, and dict with string keys. Values
    are accumulated, and states are merged, in arrival order.

    Args:
        name: the name by which JSON identifies the aggregate.
        init: returns the state of no rows.
        accumulate: takes a state and a value (None for a null) of each column, and returns the next state. It
            does not change the state in place.
        merge: takes two states, the earlier first, and returns the state of both. It changes none in place.
            Merged with the state of `init`, a state stays as it is.
        finish: takes a state, and returns the result: a value of the type `result`, or None.
        result: the type of the result: "bigint", "double", "string", "boolean" or "decimal(p,s)", or a list,
            a struct or a map of these, such as "array<bigint>", "struct<n:bigint,mean:double>" and
            "map<string,bigint>". A double may be returned as a whole number. A struct and a map are dicts.
            Default: "double".
        commutative: declares that the order of values does not matter to `accumulate`, nor that of states to
            `merge`. Then sliding windows merge states. Otherwise they accumulate the rows of each window in
            arrival order.

    Raises:
        SpecError: for a name that is no non-empty string, another result type, and a function that cannot be
            called.

    >>> longest = UserAggregate("longest", init=lambda: "", accumulate=lambda s, v: max(s, v or "", key=len),
    ...                         merge=lambda a, b: max(a, b, key=len), finish=lambda s: s, result="string")
    >>> longest("word").alias("w").name
    'w'

    Source: semantics 24.7, 24.20, 24.30; Beam CombineFn, S4 Accumulation.
    """

    def __call__(self, column: ColumnOrName, *more: ColumnOrName) -> Aggregate:
        """Returns the aggregate over a column or several, for the `aggregates` of an operator.

        Over several columns `accumulate` takes a state and a value of each column, in this order.

        Raises:
            SpecError: if `accumulate` does not take as many values. That of :meth:`reduce` takes one.

        >>> from panewise.testing import result_of
        >>> spent = UserAggregate("spent", init=lambda: 0, accumulate=lambda s, n, price: s + n * price,
        ...                       merge=lambda a, b: a + b, finish=lambda s: s, result="bigint")
        >>> result_of(spent("n", "price"), [{"n": 2, "price": 5}, {"n": 1, "price": 7}])
        17
        """
        if more:
            check_arguments(self.name, self.accumulate, 1 + len(more))
        name, further = checked_column(column), tuple(map(checked_column, more))
        shown = default_name(self.name, name, *further)
        return Aggregate("user", name, shown, user=self, more=further)

    @classmethod
    def reduce(
        cls,
        name: str,
        fn: Callable[[Any, Any], Any],
        result: ResultType = "double",
        *,
        commutative: bool = False,
    ) -> "UserAggregate":
        """Returns an aggregate that combines values two at a time.

        Nulls are skipped. Without values the result is null.

        Args:
            name: the name by which JSON identifies the aggregate.
            fn: takes two values, the earlier first, and returns their combination. Each may be an earlier
                result. It must be associative, as each batch is combined separately.
            result: the type of the values and of the result. Default: "double".
            commutative: declares that the order of the values does not matter to `fn`.

        Raises:
            SpecError: if `fn` cannot be called, and for another result type.

        >>> from panewise.testing import result_of
        >>> product = UserAggregate.reduce("product", lambda a, b: a * b, result="bigint")
        >>> result_of(product("v"), [{"v": 2}, {"v": None}, {"v": 3}, {"v": 7}])
        42

        Source: semantics 24.14; S4 ReduceFn.
        """
        check_function("fn", fn)

        def join(earlier: Any, later: Any) -> Any:
            return later if earlier is None else earlier if later is None else fn(earlier, later)

        return cls(
            name,
            init=lambda: None,
            accumulate=join,
            merge=join,
            finish=lambda state: state,
            result=result,
            commutative=commutative,
        )

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
        """Returns an aggregate that accumulates values one by one into a state, which is the result.

        Args:
            name: the name by which JSON identifies the aggregate.
            initial: the state of no rows, a JSON value. Each batch of a window begins with a copy of it, so
                combining it with a state must leave that state unchanged.
            fn: takes a state and a value (None for a null), and returns the next state.
            combine: takes two states, the earlier first, and returns the state of both. It is required, as a
                window can have rows of several batches.
            result: the type of the state and of the result. Default: the type of `initial`, if that is a
                string, a Boolean or a float. Otherwise it is required: a whole number may begin a count or a
                sum of doubles, and null and lists do not determine a type.
            commutative: declares that the order of values does not matter to `fn`, nor that of states to
                `combine`.

        Raises:
            SpecError: without `combine`; without `result` if `initial` does not determine it; if `initial` is
                not a JSON value, or if `combine(initial, initial)` is not `initial`.

        >>> from panewise.testing import result_of
        >>> letters = UserAggregate.fold("letters", 0, lambda n, v: n + len(v or ""), combine=lambda a,
        ...     b: a + b, result="bigint")
        >>> result_of(letters("word"), [{"word": "to"}, {"word": None}, {"word": "be"}])
        4

        Source: semantics 24.14; S4 FoldFn.
        """
        if combine is None:
            rule = "a window contains rows of several batches, and each batch is folded separately"
            remedy = "give combine=, a function of two states, the earlier first"
            raise SpecError(f"fold({name!r}) without combine", rule, remedy)
        check_function("fn", fn)
        check_function("combine", combine)
        text = _as_text(name, initial)  # text, so that windows do not share a mutable initial value
        _check_neutral(name, text, combine)
        init, finish = (lambda: json.loads(text)), (lambda state: state)
        kind = _result_of(name, initial) if result is None else result
        return cls(
            name, init=init, accumulate=fn, merge=combine, finish=finish, result=kind, commutative=commutative
        )


def _result_of(name: str, initial: JsonValue) -> ResultType:
    """Returns the type of the result of a fold that its initial state determines."""
    kind = {str: "string", bool: "boolean", float: "double"}.get(type(initial))
    if kind is None:
        rule = "initial does not determine the type of the result"
        remedy = "give result=, such as 'bigint' or 'double'"
        raise SpecError(f"fold({name!r}, initial={initial!r}) without result", rule, remedy)
    return kind


def _as_text(name: str, initial: JsonValue) -> str:
    if not is_json(initial):
        rule = "a state is a JSON value"
        remedy = "use numbers, strings, lists and dicts with string keys"
        raise SpecError(f"fold({name!r}, initial={initial!r})", rule, remedy)
    return json.dumps(initial)


def _check_neutral(name: str, text: str, combine: Callable[[JsonValue, JsonValue], JsonValue]) -> None:
    """Refuses an initial value that would be counted once for each batch, such as 100 for a sum."""
    twice = combine(json.loads(text), json.loads(text))
    if twice != json.loads(text):
        problem = f"fold({name!r}, initial={text}): combined with itself it gives {twice!r}"
        rule = "initial is the state without rows: combining it with a state changes nothing"
        raise SpecError(problem, rule, "give such a value, for example 0 for a sum")
