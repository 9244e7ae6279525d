"""Which columns of rows are bounds of their windows, under the names that queries give to them."""

from dataclasses import replace
from typing import Final

from panewise.spec.operators.join.match_parts import match_parts
from panewise.sql.expressions.column_syntax import plain_column, star_of
from panewise.sql.stages import (
    AssignedStage,
    JoinStage,
    OutputColumn,
    QueryStage,
    RowsStage,
    SingleInputStage,
    WindowsStage,
)
from panewise.sql.windows.panes import BOUND_OF, BOUND_TEXTS

STRUCT: Final = "window"  # stands for the column with both bounds
STRUCT_TEXT: Final = "struct(window_start AS `start`, window_end AS `end`)"


def bound_columns(stage: QueryStage) -> dict[str, str]:
    """Returns the columns of rows that are bounds of their windows: what they are, by lower-case names.

    They are `window_start`, `window_end` and `window_time`, or the struct of both bounds.
    """
    if isinstance(stage, AssignedStage):
        return {bound: bound for bound in BOUND_TEXTS}
    if isinstance(stage, WindowsStage):
        return _of_panes(stage)
    if isinstance(stage, JoinStage):
        return _of_join(stage)
    if not isinstance(stage, RowsStage) or isinstance(stage, SingleInputStage):
        return {}
    inner = bound_columns(stage.input)
    return inner if stage.outputs is None else dict(_renamed(stage.outputs, inner))


def _of_panes(stage: WindowsStage) -> dict[str, str]:
    listed = [(output.name, output.text) for output in stage.outputs]
    texts = listed if stage.ranked is None else stage.ranked.others
    bounds = {(name or "").lower(): _bound_of(text, stage.struct) for name, text in texts}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _bound_of(text: str, struct: str | None) -> str | None:
    if text == STRUCT_TEXT or (struct is not None and text.strip("`") == struct):
        return STRUCT
    return BOUND_OF.get(text.strip("`"))


def _of_join(stage: JoinStage) -> dict[str, str]:
    """Returns the bounds of the windows of a window join."""
    if not match_parts(stage.match).windows_end(stage.match):
        return {}
    ends = {name: text for side in stage.ends for name, text in side.items()} or BOUND_TEXTS
    plain = (item for item in stage.items if item.parts == ("", ""))
    texts = {(item.name or "").lower(): ends.get(item.columns[0][1].lower()) for item in plain}
    return {name: BOUND_OF[text] for name, text in texts.items() if text is not None}


def _renamed(outputs: tuple[OutputColumn, ...], inner: dict[str, str]) -> list[tuple[str, str]]:
    named = list[tuple[str, str]]()
    for output in outputs:
        name, star = plain_column(output.text), star_of(output.text)
        if star is not None:
            named += [(known, bound) for known, bound in inner.items() if known not in star.without]
        elif name in inner:
            named.append(((output.name or name).lower(), inner[name]))
    return named


def folded(stage: QueryStage) -> QueryStage:
    """Returns panes with another SELECT list, if a query over them only selects columns and names them."""
    if not isinstance(stage, RowsStage) or stage.where is not None or stage.outputs is None:
        return stage
    panes = folded(stage.input)
    if not isinstance(panes, WindowsStage) or panes.ranked is not None:
        return stage
    known = {(output.name or "").lower(): output for output in panes.outputs}
    listed = list[OutputColumn]()
    for output in stage.outputs:
        star = star_of(output.text)
        if star is not None:
            listed += [output for name, output in known.items() if name not in star.without]
        elif plain_column(output.text) in known:
            column = known[plain_column(output.text)]
            listed.append(replace(column, name=output.name or column.name))
        else:
            return stage
    return stage if "" in known else replace(panes, outputs=tuple(listed))
