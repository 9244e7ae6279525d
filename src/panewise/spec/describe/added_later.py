"""Describes the aggregates that were added to a state which had rows already (semantics 47.3)."""

from collections.abc import Iterable
from typing import Any, Final

from panewise.spec.describe.listing import listed

_WORDS: Final = {
    "null": "null in a pane with rows from before the aggregate was added",
    "from_now_on": "computed without the rows from before the aggregate was added",
}


def of_added(aggregates: Iterable[Any]) -> list[str]:
    """Returns a line for each way in which added aggregates treat earlier rows; none without added ones.

    >>> from dataclasses import replace
    >>> from panewise import functions as F
    >>> of_added([F.count(), replace(F.max("v").alias("most"), added="null")])
    ['  Null in a pane with rows from before the aggregate was added: most.']
    """
    known = [(aggregate.added, aggregate.name) for aggregate in aggregates]
    names = {added: tuple(name for way, name in known if way == added) for added in _WORDS}
    return [
        f"  {_WORDS[added].capitalize()}: {listed(columns)}." for added, columns in names.items() if columns
    ]
