"""Joins as a SELECT from two tables, `a` and `b`."""

from dataclasses import replace

from panewise.spec import JoinOperator, Selected
from panewise.spec.conditions.text import in_backticks
from panewise.sql.writing.matches import NAMES, joined_tables, takes_condition
from panewise.sql.writing.words import check_plain, unsaid


def join(spec: JoinOperator, table: str) -> str:
    """Returns a join of `table`, as `a`, with a table `u`, as `b`.

    Raises:
        SqlError: for what SQL cannot say.
    """
    _check_fields(spec)
    return f"SELECT {', '.join(_columns(spec))}\nFROM {joined_tables(spec, table)}"


def _check_fields(spec: JoinOperator) -> None:
    """Refuses values of fields that SQL cannot say."""
    for side, name in zip((spec.left, spec.right), NAMES, strict=True):
        check_plain(side, replace(side, watermark=None, prefix=""), f"{name}.")
    if spec.condition is not None and not takes_condition(spec):
        raise unsaid("condition of an inner join", str(spec.condition))
    plain_join = JoinOperator(
        left=spec.left,
        right=spec.right,
        match=spec.match,
        how=spec.how,
        condition=spec.condition,
        select=spec.select,
    )
    check_plain(spec, plain_join, "")


def _columns(spec: JoinOperator) -> list[str]:
    if spec.select is None:
        _check_different(spec)
        return ["*"]
    plain = [(column.side, column.column.lower()) for column in spec.select]
    if len({*plain}) < len(plain):
        raise unsaid("select: twice", max(plain, key=plain.count))
    return [f"{_column(spec, column)} AS {in_backticks(column.name)}" for column in spec.select]


def _check_different(spec: JoinOperator) -> None:
    """Refuses all columns of two sides that have a name in common: their rows would have it twice."""
    if spec.how in ("semi", "anti"):
        return
    left, right = ({name.lower() for name in spec.ports[side].columns_read} for side in NAMES)
    if left & right:
        raise unsaid(f"select: {min(left & right)} of both sides", None)


def _column(spec: JoinOperator, column: Selected) -> str:
    if column.side != "either":
        return f"{NAMES[column.side]}.{in_backticks(column.column)}"
    pairs = zip(spec.left.keys, spec.right.keys, strict=True)
    if spec.how in ("inner", "semi", "anti") or (column.column, column.column) not in pairs:
        raise unsaid("select", column)
    return in_backticks(column.column)
