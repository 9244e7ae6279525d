"""No two active queries write files to one path."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.errors import PySparkException

from panewise.errors import SpecError
from panewise.spark.queries.active_paths import ActivePaths


@dataclass
class Query:
    isActive: bool = True  # noqa: N815 - PySpark's name


def test_a_path_of_an_active_query() -> None:
    """semantics 49.59"""
    paths, query = ActivePaths(), Query()
    started: Any = query
    paths.add(["/out/a", "/out/b"], "/one", started)
    paths.check(["/out/c"], "/two")
    paths.check(["/out/a"], "/one/")  # the query itself, which Spark stops when it is started again
    refused = "the path '/out/b', to which the active query with the checkpoint '/one' writes | two queries"
    with pytest.raises(SpecError, match=re.escape(refused)):
        paths.check(["/out/c", "/out/b"], "/two")
    query.isActive = False
    paths.check(["/out/b"], "/two")
    paths.add(["/out/b"], "/two", started)
    paths.check(["/out/b"], "/two")


def test_a_query_of_an_ended_session() -> None:
    """semantics 49.59: a closed Connect session refuses to say whether its query is active."""

    class Ended:
        @property
        def isActive(self) -> bool:
            raise PySparkException("the session is closed")

    paths, ended = ActivePaths(), Ended()
    started: Any = ended
    paths.add(["/out/a"], "/one", started)
    paths.check(["/out/a"], "/two")
