"""Writes a specification as SQL, as far as SQL can say it (semantics 46.22)."""

from collections.abc import Callable
from typing import Any

from panewise.families import CHAIN, DEDUPLICATE, JOIN, OVER, WINDOWS
from panewise.spec import Specification
from panewise.sql.writing.deduplication import deduplication
from panewise.sql.writing.joins import join
from panewise.sql.writing.over import over_text
from panewise.sql.writing.ranking import ranking_or_windows
from panewise.sql.writing.windows import chain
from panewise.sql.writing.words import unsaid


def to_sql(spec: Specification, table: str = "t") -> str:
    """Returns a text that compiles to this specification.

    Args:
        spec: a WindowOperator, Chain, OverOperator, JoinOperator or DeduplicateOperator. An event time that
            the match of a join does not compare is that of the watermark of its table.
        table: the name of its table. The right table of a join is `u`.

    Raises:
        SqlError: if SQL cannot say a field; the error names it.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> print(to_sql(WindowOperator(keys=["k"], window=Tumbling("1 hour"), event_time="ts",
    ...     aggregates=[F.sum("v").alias("total")])))
    SELECT `k`, window_start, window_end, sum(`v`) AS `total`
    FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(`ts`), SIZE => INTERVAL '1 hour'))
    GROUP BY `k`, window_start, window_end

    Source: semantics 46.22.
    """
    writers: dict[str, Callable[[Any, str], str]] = {
        WINDOWS.name: ranking_or_windows,
        CHAIN.name: chain,
        OVER.name: over_text,
        JOIN.name: join,
        DEDUPLICATE.name: deduplication,
    }
    write = writers.get(spec.family.name)
    if write is None:
        raise unsaid("spec", type(spec).__name__)
    return write(spec, table)
