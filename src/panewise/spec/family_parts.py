"""What each family supplies for its specifications: facts, checks, words and JSON."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, TypeVar

from panewise.chrono import Duration
from panewise.families import INPUT, part
from panewise.spec.carried_values import Carried, Known
from panewise.spec.fields import silently_replaced
from panewise.spec.protocol import Columns, Origins, Refusal, Specification, Types, Users
from panewise.spec.source_position import Position
from panewise.spec.watermarks import FixedLag
from panewise.spec.windows.kinds import AnyWindow

S = TypeVar("S", bound=Specification)


@dataclass(frozen=True)
class ResultWindows:
    """Windows whose current results can be stored by key and start, or by key and bounds (semantics 31.16).

    Attributes:
        kind: the name of their kind.
        keys: their keys.
        aggregates: the names of their results.
        merge: whether they are sessions, which merge. A start then has no end of its own.
        size: their size in microseconds; None if they differ in size.
        live_us: how long a window is live: its size, or the gap of sessions, and the allowed lateness;
            None if that has no limit.
    """

    kind: str
    keys: tuple[str, ...]
    aggregates: tuple[str, ...]
    merge: bool
    size: int | None
    live_us: int | None


class SpecParts(ABC, Generic[S]):
    """What all layers have to know of the specifications of a family.

    A family states what is special about it. The defaults are those of an operator that emits new rows, calls
    no functions of the user, and spreads rows over shards by their keys.

    Attributes:
        passed_on: whether the emitted rows are input rows, with the names of the user's DataFrame.
        changeable: the fields that may change on stored state (semantics 47.2), each with a function of the
            old and the new specification that returns the rule which a change breaks; None if it breaks none.
    """

    passed_on: ClassVar[bool] = False
    changeable: ClassVar[Mapping[str, Callable[[Any, Any], str | None]]] = MappingProxyType({})

    # JSON

    @abstractmethod
    def reads(self, document: Mapping[str, Any]) -> bool:
        """Returns whether a dict describes a specification of this family.

        It is called for the families of this package. Documents of others name the family.
        """

    @abstractmethod
    def to_dict(self, spec: S) -> dict[str, Any]:
        """Returns the specification as a dict of plain values, with every field.

        That of another package's family has the field `family`, with the name of the family.
        """

    @abstractmethod
    def from_dict(self, document: Mapping[str, Any], users: Users) -> S:
        """Returns the specification that a dict describes, given what the user defined, by name."""

    # Words and checks

    @abstractmethod
    def describe(self, spec: S) -> str:
        """Returns what the operator does, as lines of text."""

    @abstractmethod
    def check_types(self, spec: S, types: Mapping[str, Types]) -> None:
        """Checks the types of columns, which are given by port and name (semantics 24.19)."""

    def check_names(self, spec: S, names: Mapping[str, str]) -> None:
        """Refuses to rename columns if the user would see the new names. `names` has them by the old ones."""

    def drawn_windows(self, spec: S) -> AnyWindow | None:
        """Returns the windows that a timeline shows in notebooks; None if there are none."""
        return None

    def limits_windows(self, spec: S) -> bool:
        """Returns whether the number of windows of a key is limited, so that some expire early (15.24)."""
        return False

    def boolean_columns(self, spec: S) -> set[str]:
        """Returns the columns of the input that must be Boolean."""
        return set()

    def batch_error(self, spec: S) -> Refusal | None:
        """Returns why a batch DataFrame cannot be the input, None if it can."""
        watermarks = (entry.watermark for entry in spec.ports.values())
        lagging = next((watermark for watermark in watermarks if isinstance(watermark, FixedLag)), None)
        if lagging is None:
            return None
        rule = (
            "the rows of a batch DataFrame do not arrive as they happen, so all rows older "
            "than the lag would be late"
        )
        return f"watermark={lagging!r} on a batch DataFrame", rule, "leave watermark out, or read a stream"

    # Other specifications

    def for_columns(self, spec: S, columns: Mapping[str, set[str]]) -> S:
        """Returns the specification for inputs with these columns, given by port (semantics 8.5)."""
        return spec

    def for_delays(self, spec: S, delays: Mapping[str, Duration | None]) -> S:
        """Returns the specification for streams whose watermarks have these delays, given by port.

        A delay of None means that rows must not drive the watermark (semantics 36.9). It raises SpecError if
        the specification has a field that then has no effect.
        """
        return spec

    def renamed(self, spec: S, port: str, names: Mapping[str, str]) -> S:
        """Returns the specification with other names of the columns of a port. Names of panes stay."""
        return spec

    def with_whole_rows(self, spec: S, columns: tuple[str, ...]) -> S:
        """Returns the specification, whose panes list these columns of a row instead of all columns."""
        return spec

    def with_position(self, spec: S, position: Position) -> S:
        """Returns the specification with a source position, which all ports have."""
        return silently_replaced(spec, position=position)

    def with_skews(self, spec: S, skews: Mapping[str, Duration]) -> S:
        """Returns the specification with a `max_future_skew` of some ports."""
        (skew,) = skews.values()
        return silently_replaced(spec, max_future_skew=skew)

    def nested_fields(self, old: Any, new: Any) -> tuple[str, ...]:
        """Returns the fields whose own fields change one by one, as `field.name`."""
        return ()

    def refuses_change(self, field: str, old: Any, new: Any) -> str | None:
        """Returns the rule that forbids a change of a field on stored state; None if it is taken over."""
        check = self.changeable.get(field)
        return (
            f"a state belongs to the {field} that it was made with (semantics 47.2)"
            if check is None
            else check(old, new)
        )

    def marked(self, old: Any, new: Any, added_aggregates: Literal["null", "from_now_on"]) -> Any:
        """Returns the new specification, with marks on the aggregates that a state of the old one lacks."""
        return new

    # Where rows are processed

    def shard_keys(self, spec: S, port: str) -> tuple[str, ...]:
        """Returns the columns of a port by which rows are spread over shards; none if all have one shard."""
        keys: tuple[str, ...] = spec.ports[port].keys
        return keys

    def one_shard(self, spec: S) -> tuple[str, str] | None:
        """Returns why only one shard is possible, and a remedy; None if several are possible."""
        return None

    def static_port(self, spec: S) -> str | None:
        """Returns the port whose input may be a batch DataFrame next to streams (semantics 36.8), or None."""
        return None

    def check_static(self, spec: S) -> None:
        """Refuses fields that have no effect if the static port has a batch DataFrame."""

    # Facts

    def calls_users(self, spec: S) -> bool:
        """Returns whether the specification has functions of the user."""
        return False

    def functions(self, spec: S, port: str) -> tuple[Any, ...]:
        """Returns the aggregates and row functions over columns of a port."""
        return ()

    def allowed_lateness(self, spec: S, port: str) -> Duration | Literal["unlimited"]:
        """Returns how far rows of a port may be behind the watermark and still be applied."""
        return Duration(0)

    def lengths_ahead(self, spec: S) -> tuple[int, ...]:
        """Returns how far the operator looks ahead in event time, in microseconds, if no field says so."""
        return ()

    def deferrable(self, spec: S) -> bool:
        """Returns whether messages may wait (semantics 31.30). Other fields can still prevent it."""
        return False

    def result_windows(self, spec: S) -> ResultWindows | Refusal | None:
        """Returns the windows that have current results, or why they have none; None without windows."""
        return None

    # Emitted rows

    def unchanged(self, spec: S, columns: Columns) -> Origins:
        """Returns the columns of emitted rows that are input columns, with the port and column of each.

        The columns of each port are given.
        """
        return {name: (INPUT, name) for name in (columns[INPUT] if self.passed_on else spec.keys)}

    def carried(self, spec: S, known: Known, kinds: Carried) -> dict[str, Any]:
        """Returns the types of the other emitted columns that carry values of input columns unchanged.

        `known` has the types of the columns of each port, in any type system, and `kinds` builds lists in it.
        """
        return {}

    def instants(self, spec: S) -> tuple[str, ...]:
        """Returns the columns of emitted rows that are instants in microseconds."""
        return ()

    def emits_again(self, spec: S) -> Refusal | None:
        """Returns why emitted rows may be retracted or emitted again (semantics 42.5), None if they are not.

        Such rows cannot be the input of a second operator.
        """
        return None

    def row_key(self, spec: S) -> tuple[str, ...]:
        """Returns the columns of emitted rows that identify them (semantics 49.2); empty if none do."""
        return ()

    def has_op(self, spec: S) -> bool:
        """Returns whether emitted rows have the column `op` of semantics 20."""
        return False

    def partial_results(self, spec: S) -> Refusal | None:
        """Returns why the last row of a key need not be its result (semantics 49.4), None if it is."""
        return None

    def replaces_rows(self, spec: S) -> str | None:
        """Returns the field because of which a row may replace an earlier one without a retraction."""
        return None

    @abstractmethod
    def output_time(self, spec: S) -> str | Refusal:
        """Returns the column of emitted rows whose values the output watermark bounds (semantics 42.5).

        Or why these rows have none, and a remedy. Then a second operator makes its own watermark.
        """

    def timely_column(self, spec: S) -> str | None:
        """Returns the event time of emitted rows, if it is never behind the watermark (semantics 42.11)."""
        return None

    def new_columns(self, spec: S) -> tuple[str, ...]:
        """Returns the columns that are added to the rows of the input, which must not have them."""
        return ()

    def more_names(self, spec: S) -> tuple[str, ...]:
        """Returns names of emitted columns that are in no field of the specification."""
        return ()


def emitted_again(field: str, remedy: str) -> Refusal:
    """Returns why a second operator cannot take the emitted rows.

    Because of the field they may be retracted, or emitted again.
    """
    rule = "a second operator takes rows that are emitted once, and are not retracted"
    return f"{field} before a second operator", rule, remedy


def parts(spec: S) -> SpecParts[S]:
    """Returns the parts of the family of a specification."""
    parts: SpecParts[S] = part(spec.family.spec)
    return parts
