"""How :func:`panewise.testing.run` addresses the operators of each family."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from panewise.families import part
from panewise.spec import JoinOperator, Specification, WindowOperator
from panewise.spec.conditions.nodes import Column, Comparison, walk
from panewise.spec.operators.cogroup.windowing import window_operator as windows_of_cogroup
from panewise.spec.operators.join.side_entry import TwoSided
from panewise.spec.operators.join.windowing import window_operator

if TYPE_CHECKING:  # for an annotation alone: a plugin of pytest imports this without Polars
    from panewise.engine.protocol import Operator


def _no_call(operator: Any, op: str, partition: Mapping[str, Any]) -> Any:
    raise AssertionError(f"{op} is an op of every family")


@dataclass(frozen=True)
class TestingParts:
    """The events that only operators of this family have, and how they are played.

    In the engine the ops "checkpoint", "reset" and "reset_to_initial" are played by the runtime, as the life
    cycle of standalone operators plays them. In the oracle all ops are methods.

    Attributes:
        ops: the ops with the fields of their events.
        retracts: whether the rows that an operator emits say in `op` whether they are retracted. Then every
            retraction is checked (:mod:`panewise.testing.retractions`).
        engine: plays such an event with an operator of the engine, given the op and the partition of the
            event; returns its output.
        oracle: plays such an event with an interpreter of the oracle; returns its output.
        on_spark: why Spark has no such ops, and a remedy.
        same_types: returns columns by input that have one type, so that a column without a value has that of
            the other input.
        windows: returns the windows that rows of two inputs are assigned to, as an operator; None if there
            are none.
        windowed: returns the specification whose fields describe the windows of rows. That is the operator's
            specification or a part of it; None if it has no windows of rows.
        with_windowed: returns the operator's specification with another one in place of `windowed`.
    """

    __test__ = False  # pytest would collect it by its name

    ops: Mapping[str, set[str]] = field(default_factory=lambda: MappingProxyType({}))
    retracts: bool = True
    engine: Callable[[Any, str, Mapping[str, Any]], Any] = _no_call
    oracle: Callable[[Any, str, Mapping[str, Any]], Any] = _no_call
    on_spark: tuple[str, str] = ("", "")
    same_types: Callable[[Any], Iterable[Mapping[str, str]]] = lambda spec: ()
    windows: Callable[[Any], WindowOperator | None] = lambda spec: None
    windowed: Callable[[Any], Any] = lambda spec: None
    with_windowed: Callable[[Any, Any], Any] = lambda spec, changed: changed


def parts_for_tests(spec: Specification) -> TestingParts:
    """Returns the parts of the family of a specification."""
    parts: TestingParts = part(spec.family.testing)
    return parts


def _with_partitions(operator: "Operator", op: str, partition: Mapping[str, Any]) -> Any:
    if op == "drain":
        return operator.advance()  # nothing is outstanding (semantics 10.21)
    assert op == "evict" and operator.partitions is not None
    return operator.partitions.evict(dict(partition))


def _of_oracle(interpreter: Any, op: str, partition: Mapping[str, Any]) -> Any:
    return interpreter.evict(dict(partition)) if op == "evict" else getattr(interpreter, op)()


def _of_both_sides(spec: TwoSided, condition: Any = None) -> list[Mapping[str, str]]:
    """Returns the keys of both sides, and the columns that a condition compares with each other."""
    sides = list(spec.sides)
    keys = zip(*(side.keys for side in spec.sides.values()), strict=True)
    same: list[Mapping[str, str]] = [dict(zip(sides, names, strict=True)) for names in keys]
    for node in () if condition is None else walk(condition):
        if isinstance(node, Comparison):
            compared = [column for column in (node.first, node.second) if isinstance(column, Column)]
            same += [{column.side: column.name for column in compared}] if len(compared) == len(sides) else []
    return same


def _of_join(join: JoinOperator) -> list[Mapping[str, str]]:
    return _of_both_sides(join, join.condition)


def _windows_of_join(join: JoinOperator) -> WindowOperator | None:
    return window_operator(join) if join.window_columns else None


PLAIN: Final = TestingParts()
WINDOWS: Final = TestingParts(windowed=lambda spec: spec)
CHAIN: Final = TestingParts(
    windowed=lambda spec: spec.first, with_windowed=lambda spec, first: replace(spec, first=first)
)
ONLY_INSERTS: Final = TestingParts(retracts=False)
JOIN: Final = TestingParts(same_types=_of_join, windows=_windows_of_join)
WINDOWED_JOIN: Final = TestingParts(
    same_types=lambda spec: _of_join(spec.join), windows=lambda spec: _windows_of_join(spec.join)
)
COGROUP: Final = TestingParts(
    same_types=_of_both_sides, windows=windows_of_cogroup, windowed=lambda spec: spec
)
# Semantics 10.21 to 10.23.
POLICY: Final = TestingParts(
    retracts=False,
    ops={
        "drain": set(),
        "checkpoint": set(),
        "reset": set(),
        "reset_to_initial": set(),
        "evict": {"partition"},
    },
    engine=_with_partitions,
    oracle=_of_oracle,
    on_spark=(
        "on Spark state is in the query's checkpoint, and a restart is the reset (semantics 10.24)",
        "use another runtime, or restart",
    ),
)
