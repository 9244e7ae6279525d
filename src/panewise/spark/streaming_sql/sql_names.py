"""The names of the columns of a SELECT list: those that Spark gives."""

import re
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from panewise.spark.results.operator_result import OperatorResult
from panewise.sql.stage_columns import is_star
from panewise.sql.stages import OutputColumn, OverStage, QueryStage

_CONSTANTS = frozenset({"null", "true", "false"})
_SIMPLE = re.compile(r"\s*(count|sum|min|max|avg)\s*\(\s*([A-Za-z_]\w*|\*)\s*\)\s*", re.IGNORECASE)


def without_star(outputs: Sequence[OutputColumn], names: list[str] | None) -> list[str] | None:
    """Returns a name for each column of a SELECT list, one for all of `*`. None if they do not fit."""
    stars = [number for number, output in enumerate(outputs) if is_star(output)]
    if names is None or len(stars) > 1:
        return None
    # A last column `op`, which the query does not select, has its name already.
    selected = len(outputs) - (outputs[-1].original == "op" and not stars and len(names) < len(outputs))
    if not stars:
        return names if len(names) == selected else None
    behind = len(outputs) - stars[0] - 1
    return [*names[: stars[0]], "*", *names[len(names) - behind :]]


def simple_name(text: str) -> str | None:
    """Returns the name that Spark gives to a call of a basic aggregate over a column; None for all others.

    >>> simple_name("COUNT( * )"), simple_name("sum(v)"), simple_name("sum(v + 1)"), simple_name("sum(null)")
    ('count(1)', 'sum(v)', None, None)
    """
    call = _SIMPLE.fullmatch(text)
    if call is None or call[2].lower() in _CONSTANTS:
        return None
    return f"{call[1].lower()}({'1' if call[2] == '*' else call[2]})"


def frame_of_select(stage: QueryStage, input: Any) -> DataFrame | None:  # noqa: A002
    """Returns the DataFrame over which a SELECT is written; None if that is a result.

    A SELECT with several windows is several operators. Each but the first reads the result of the one before.
    """
    while isinstance(stage, OverStage) and isinstance(input, OperatorResult):
        stage = stage.input
        if not isinstance(stage, OverStage) or stage.outputs is not None:
            return None
        input = input.dataflow.df  # noqa: A001
    return input if isinstance(input, DataFrame) else None
