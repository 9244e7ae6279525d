"""The functions and classes that users define, which documents name and do not contain."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from panewise.spec.aggregates.user import UserAggregate
from panewise.spec.aggregates.user_merge import UserMergeAggregate
from panewise.spec.operators.policy.listener import WindowListener
from panewise.spec.protocol import Users
from panewise.spec.windows.custom import Custom


class _Any(dict[str, Any]):
    """A dict that has a value for every name: the one that a function makes for it."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> Any:
        return self._make(name)

    def __contains__(self, name: object) -> bool:
        return True


def _merge_aggregate(name: str) -> UserMergeAggregate:
    return UserMergeAggregate(
        name, init=str, accumulate_left=max, accumulate_right=max, merge=max, finish=str
    )


class AnyListener(dict[str, WindowListener]):
    """Has a listener of every name. Its outputs are those that the document gives it."""

    def __contains__(self, name: object) -> bool:
        return True


# Placeholders for whatever a document names: documents can be read and compared without the functions.
ANY_USER: Final[Users] = {
    "aggregates": _Any(lambda name: UserAggregate(name, init=str, accumulate=max, merge=max, finish=str)),
    "merge_aggregates": _Any(_merge_aggregate),
    "windows": _Any(lambda name: Custom(len, name=name)),
    "listeners": AnyListener(),
}


def users(aggregates: Mapping[str, Any], windows: Mapping[str, Any], listeners: Mapping[str, Any]) -> Users:
    """Returns what a user defined, by kind and name. `aggregates` may also have aggregates of both sides."""
    merging = {name: what for name, what in aggregates.items() if isinstance(what, UserMergeAggregate)}
    return {
        "aggregates": aggregates,
        "merge_aggregates": merging,
        "windows": windows,
        "listeners": listeners,
    }
