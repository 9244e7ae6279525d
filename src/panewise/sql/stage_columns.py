"""The columns that the rows of stages have, by their SELECT lists."""

from panewise.sql.expressions.column_syntax import star_of
from panewise.sql.stages import DeduplicateStage, JoinStage, OutputColumn, QueryStage, RowsStage, WindowsStage


def names_of_outputs(stage: QueryStage) -> list[str] | None:
    """Returns the names of the columns of rows of windows; None if one has no name in the text."""
    while isinstance(stage, RowsStage) and stage.outputs is None:
        stage = stage.input
    outputs = stage.outputs if isinstance(stage, (RowsStage, WindowsStage)) else None
    if isinstance(stage, RowsStage) and any(map(is_star, outputs or ())):
        outputs = _without_stars(stage)
    if isinstance(stage, JoinStage):
        names = [item.name for item in stage.items]
        whole = any(item.with_tables for item in stage.items)
        return None if None in names or whole else [name for name in names if name is not None]
    if not outputs or any(output.name is None for output in outputs):
        return None
    return [output.name for output in outputs if output.name is not None]


def _without_stars(stage: RowsStage) -> tuple[OutputColumn, ...] | None:
    """Returns the SELECT list of rows of windows with columns in the place of `*`, None if it has others."""
    names, listed = names_of_outputs(stage.input), list[OutputColumn]()
    for output in stage.outputs or ():
        star = star_of(output.text)
        if star is None:
            listed.append(output)
        elif names is None:
            return None
        else:
            shown = (name for name in names if name.lower() not in star.without)
            listed += (OutputColumn(name, name, name) for name in shown)
    return tuple(listed)


def over_rows(
    input: QueryStage,  # noqa: A002 - the field's name
    alias: str | None,
    where: str | None,
    outputs: tuple[OutputColumn, ...] | None,
) -> RowsStage:
    """Returns a filter and a SELECT list over rows. Retractions have their `op` after it, too."""
    if (
        outputs is not None
        and has_op(input)
        and not any(is_star(output) or output.name == "op" for output in outputs)
    ):
        outputs = (*outputs, OutputColumn("op", "op", "op"))
    return RowsStage(input, alias, where, outputs)


def has_op(stage: QueryStage) -> bool:
    """Returns whether the rows of a stage have the column `op` of retractions."""
    if isinstance(stage, WindowsStage) and stage.ranked is not None:
        return stage.ranked.retracts
    if isinstance(stage, RowsStage) and stage.outputs is None:
        return has_op(stage.input)
    outputs = stage.outputs if isinstance(stage, (WindowsStage, RowsStage, DeduplicateStage)) else None
    named = any(output.name == "op" for output in outputs or ())
    whole = isinstance(stage, RowsStage) and any(map(is_star, outputs or ()))
    return named or (whole and isinstance(stage, RowsStage) and has_op(stage.input))


def is_star(output: OutputColumn) -> bool:
    """Returns whether a column stands for all, as `*`, `t.*` and `* EXCEPT (...)` do."""
    return star_of(output.text) is not None
