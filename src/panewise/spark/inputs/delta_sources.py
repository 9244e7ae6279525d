"""The directories of the Delta tables that a stream reads (semantics 49.60).

Spark's text of a plan does not show them. So they are read from the plan itself, which is in the JVM of the
driver. Through Connect there is only the text.
"""

import logging
from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

from panewise.spark.inputs.plan_text import plan_of
from panewise.spark.session.failures import cause_of, spark_errors

_LOG: Final = logging.getLogger("panewise.sinks")
_DELTA: Final = "delta"  # what Spark shows of such a source


def delta_sources(df: DataFrame) -> list[str]:
    """Returns the directories of the Delta tables that a stream reads. Through Connect there are none."""
    classic = getattr(df, "_jdf", None)
    if classic is None or _DELTA not in plan_of(df):
        return []
    try:
        return list(_directories(classic.queryExecution().analyzed()))
    except spark_errors() as error:  # of a Spark whose plans have other methods
        _LOG.warning("the sinks of this query are not compared with its Delta sources: %s", cause_of(error))
        return []


def _directories(plan: Any) -> Iterator[str]:
    """Yields the directories of the Delta sources of a plan. Spark also sets them for names of tables."""
    leaves = plan.collectLeaves()
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if leaf.nodeName() == "StreamingRelation" and leaf.sourceName() == _DELTA:
            options = leaf.dataSource().options()
            names = options.keysIterator()
            while names.hasNext():
                name = names.next()
                if name.lower() == "path":
                    yield str(options.apply(name))
