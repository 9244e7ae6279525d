"""Reports: the output watermarks of the shards of an operator, on their way to a second operator.

They travel among the rows of the first operator, as rows without values. A further column has their envelope.
"""

import json
from collections.abc import Mapping
from typing import Final, TypeAlias

from panewise.engine.kernels.instants import lowest_of_known

# The column of envelopes among the rows of the first operator. No column of the user has this name (35.7).
PROGRESS: Final = "__panewise_progress"
KIND: Final = "progress"  # the kind of their envelopes
FEEDS: Final = "feeds"  # the field of the header that has the reports of each input
Reports: TypeAlias = dict[str, int]  # an output watermark by the number of its shard, a text as in JSON


def report(shard: int, watermark: int) -> bytes:
    """Returns the report of a shard."""
    return json.dumps({str(shard): watermark}).encode()


def highest_reports(reports: Mapping[str, int], other: Mapping[str, int]) -> Reports:
    """Returns the highest watermark that each shard has reported.

    >>> highest_reports({"0": 5, "2": 7}, {"2": 6, "3": 1})
    {'0': 5, '2': 7, '3': 1}
    """
    return {**reports, **{shard: max(to, reports.get(shard, to)) for shard, to in other.items()}}


def lowest(reports: Mapping[str, int], shards: tuple[int, ...]) -> int | None:
    """Returns the lowest watermark of all shards, None until each has reported one.

    >>> lowest({"0": 5, "2": 7}, (0, 2)), lowest({"0": 5}, (0, 2))
    (5, None)
    """
    return lowest_of_known(reports.get(str(shard)) for shard in shards)
