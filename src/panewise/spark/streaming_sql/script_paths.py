"""The paths that a query of a script writes files to, if Spark alone runs it (semantics 49.62).

An operator has them in its record. A query of Spark alone has none, so its paths are beside its checkpoint.
"""

import json
from collections.abc import Iterable
from typing import Final

from pyspark.sql import SparkSession

from panewise.paths import place
from panewise.spark.queries.checkpoint_texts import add_text, texts_of
from panewise.spark.sinks.base import PathSink
from panewise.spark.sinks.preparation import check_changed
from panewise.spark.streaming_sql.table_sinks import TableSink

_FOLDER: Final = "panewise/paths"  # in the checkpoint


def places_of(sinks: Iterable[TableSink]) -> list[str]:
    """Returns the places of the tables that are files, in order."""
    return sorted(place(sink.path) for sink in sinks if isinstance(sink, PathSink))


def check_places(session: SparkSession, sinks: Iterable[TableSink], checkpoint: str) -> None:
    """Checks the paths that a continued query has not written to before.

    A checkpoint of an earlier release has no record of the others, so nothing is checked.

    Raises:
        SpecError: if one has rows.
    """
    if texts := texts_of(session, checkpoint, _FOLDER):
        check_changed(session, sinks, _known(texts))


def record_places(session: SparkSession, sinks: Iterable[TableSink], checkpoint: str) -> None:
    """Adds the paths of a query that are not recorded yet. It is called before the query starts.

    An empty list is recorded, too: a later path is then a new one.
    """
    places, texts = places_of(sinks), texts_of(session, checkpoint, _FOLDER)
    if not texts or not _known(texts).issuperset(places):
        add_text(session, f"{checkpoint}/{_FOLDER}", json.dumps(places))


def _known(texts: Iterable[str]) -> set[str]:
    """Returns the paths that are recorded."""
    return {path for text in texts if text.strip() for path in json.loads(text)}
