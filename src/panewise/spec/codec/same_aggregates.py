"""Which aggregates of two specifications compute the same, by their documents (semantics 47.1, 47.3).

Documents have the names of functions of the user. So the functions themselves are not needed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from panewise.spec.codec.documents import write

AddedAggregates: TypeAlias = Literal["null", "from_now_on"]
ADDED_AGGREGATES: Final = ("null", "from_now_on")


def definition(document: Mapping[str, Any]) -> str:
    """Returns what an aggregate computes, without its name, as a text that can be compared."""
    return repr(sorted((name, value) for name, value in document.items() if name != "name"))


def same_aggregates(old: tuple[Any, ...], new: tuple[Any, ...]) -> list[int | None]:
    """Returns for each new aggregate the place of the old one that computes the same; None if none does.

    Names make no difference, but of several the one with the same name is chosen.

    >>> from panewise import functions as F
    >>> same_aggregates((F.sum("v"), F.count()), (F.count().alias("n"), F.min("v")))
    [1, None]
    """
    before = [write(aggregate) for aggregate in old]
    known = [definition(document) for document in before]
    places = list[int | None]()
    for aggregate in new:
        document = write(aggregate)
        same = [place for place, content in enumerate(known) if content == definition(document)]
        named = [place for place in same if before[place]["name"] == document["name"]]
        places.append(next(iter([*named, *same]), None))
    return places


def marked_aggregates(
    old: tuple[Any, ...], new: tuple[Any, ...], added_aggregates: AddedAggregates
) -> tuple[Any, ...]:
    """Returns the new aggregates, with `added` in those that the state lacks, or lacked earlier.

    An aggregate that has it already stays as it is.
    """
    plain = tuple(replace(aggregate, added=None) for aggregate in old)
    places = same_aggregates(plain, new)
    pairs = zip(new, places, strict=True)
    return tuple(
        aggregate
        if aggregate.added is not None
        else replace(aggregate, added=added_aggregates if place is None else old[place].added)
        for aggregate, place in pairs
    )
