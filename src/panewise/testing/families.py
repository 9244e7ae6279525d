"""How :func:`panewise.testing.run` addresses the operators of each family."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from panewise.families import part
from panewise.spec import Specification

if TYPE_CHECKING:
    from panewise.testing.events import Event


def _no_call(operator: Any, event: "Event") -> Any:
    raise AssertionError(f"{event.op} is an op of every family")


@dataclass(frozen=True)
class TestingParts:
    """The events that only operators of this family have, and how they are played.

    The ops "checkpoint" and "reset" are played by the runtimes: an operator that has them has a method
    `reset(state)` in the engine, and methods `checkpoint()` and `reset()` in the oracle.

    Attributes:
        ops: the ops with the fields of their events.
        engine: plays such an event with an operator of the engine; returns its output.
        oracle: plays such an event with an interpreter of the oracle; returns its output.
        on_spark: why Spark has no such ops, and a remedy.
    """

    __test__ = False  # pytest would collect it by its name

    ops: Mapping[str, set[str]] = field(default_factory=lambda: MappingProxyType({}))
    engine: Callable[[Any, "Event"], Any] = _no_call
    oracle: Callable[[Any, "Event"], Any] = _no_call
    on_spark: tuple[str, str] = ("", "")


def parts_for_tests(spec: Specification) -> TestingParts:
    """Returns the parts of the family of a specification."""
    found: TestingParts = part(spec.family.testing)
    return found


def _with_policies(operator: Any, event: "Event") -> Any:
    return operator.evict(event.partition) if event.op == "evict" else getattr(operator, event.op)()


def _with_policies_of_oracle(oracle: Any, event: "Event") -> Any:
    return oracle.evict(dict(event.partition)) if event.op == "evict" else getattr(oracle, event.op)()


PLAIN: Final = TestingParts()
# Semantics 10.21 to 10.23.
POLICY: Final = TestingParts(
    ops={
        "drain": set(),
        "checkpoint": set(),
        "reset": set(),
        "reset_to_initial": set(),
        "evict": {"partition"},
    },
    engine=_with_policies,
    oracle=_with_policies_of_oracle,
    on_spark=(
        "on Spark state is in the query's checkpoint, and a restart is the reset (semantics 10.24)",
        "use another runtime, or restart",
    ),
)
