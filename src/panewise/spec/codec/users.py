"""The functions and classes that users define, which documents name and do not contain."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.spec.aggregates.user import UserAggregate
from panewise.spec.aggregates.user_merge import UserMergeAggregate
from panewise.spec.operators.policy.listener import WindowListener
from panewise.spec.protocol import Users
from panewise.spec.windows.custom import Custom


class _AnyAggregate(dict[str, UserAggregate]):
    """Contains an aggregate for every name."""

    def __missing__(self, name: str) -> UserAggregate:
        return UserAggregate(name, init=str, accumulate=max, merge=max, finish=str)

    def __contains__(self, name: object) -> bool:
        return True


class _AnyMergeAggregate(dict[str, UserMergeAggregate]):
    """Contains an aggregate of both sides for every name."""

    def __missing__(self, name: str) -> UserMergeAggregate:
        return UserMergeAggregate(
            name, init=str, accumulate_left=max, accumulate_right=max, merge=max, finish=str
        )

    def __contains__(self, name: object) -> bool:
        return True


class _AnyWindow(dict[str, Custom]):
    """Contains windows for every name."""

    def __missing__(self, name: str) -> Custom:
        return Custom(len, name=name)

    def __contains__(self, name: object) -> bool:
        return True


class AnyListener(dict[str, WindowListener]):
    """Stands for a listener of every name, with the outputs that the document gives it."""

    def __contains__(self, name: object) -> bool:
        return True


# Placeholders for whatever a document names: documents can be read and compared without the functions.
ANY_USER: Final[Users] = {
    "aggregates": _AnyAggregate(),
    "merge_aggregates": _AnyMergeAggregate(),
    "windows": _AnyWindow(),
    "listeners": AnyListener(),
}


def users(
    aggregates: Mapping[str, Any] | None = None,
    windows: Mapping[str, Any] | None = None,
    listeners: Mapping[str, Any] | None = None,
) -> Users:
    """Returns what a user defined, by kind and name. `aggregates` may also have aggregates of both sides."""
    return {
        "aggregates": aggregates or {},
        "merge_aggregates": aggregates or {},
        "windows": windows or {},
        "listeners": listeners or {},
    }
