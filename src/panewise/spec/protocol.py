"""What all specifications have in common, and what each family supplies for its specifications."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

from panewise.chrono import Duration
from panewise.families import INPUT, Family, part
from panewise.spec.column_types import Type
from panewise.spec.position import Position
from panewise.spec.watermarks import FixedLag, Watermark
from panewise.spec.windows.kinds import AnyWindow

Types: TypeAlias = Mapping[str, Type]
Refusal: TypeAlias = tuple[str, str, str]  # what was given, the rule it breaks, and a remedy


class Entry(Protocol):
    """What an operator reads from one input port: columns, clock, arrival order and validation of rows."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        ...

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns that the operator reads by name, each once."""
        ...

    @property
    def whole_rows(self) -> bool:
        """Whether the operator also stores or emits all other columns."""
        ...

    @property
    def time(self) -> Literal["event", "processing"]:
        """The clock that gives rows their time."""
        ...

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The column of the event time, as a tuple; empty if there is none."""
        ...

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that define the arrival order within a batch."""
        ...

    @property
    def position(self) -> Position | None:
        """The columns of the source position."""
        ...

    @property
    def null_keys(self) -> bool:
        """Whether null and NaN are keys like any other value."""
        ...

    @property
    def max_future_skew(self) -> Duration | None:
        """How far an event time may be ahead of processing time; None: no limit."""
        ...

    @property
    def watermark(self) -> Watermark | None:
        """Where the watermark comes from; None: from outside."""
        ...

    @property
    def window(self) -> AnyWindow | None:
        """The windows that rows are assigned to; None if there are none."""
        ...


class Specification(Protocol):
    """A specification of any family: a frozen value that can be compared and hashed."""

    def __hash__(self) -> int:
        """Returns the hash of the value."""
        ...

    @property
    def family(self) -> Family:
        """The family."""
        ...

    @property
    def ports(self) -> Mapping[str, Entry]:
        """The input ports by name, in their order. An operator with one input has the port "input"."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the emitted rows or panes."""
        ...

    @property
    def position(self) -> Position | None:
        """The columns of the source position of the first port."""
        ...


class Carried(Protocol):
    """Builds the type of a pane column that carries values of input columns unchanged."""

    def list_of(self, inner: Any) -> Any:
        """Returns the type of a list of such values."""
        ...

    def of_name(self, name: str) -> Any:
        """Returns the type that a text names, such as that of a user-defined aggregate."""
        ...

    def rows_of(self, names: tuple[str, ...], port: str = INPUT) -> Any:
        """Returns the type of a list of rows of a port with these columns."""
        ...


# "aggregates", "merge_aggregates", "windows" and "listeners", each by name.
Users: TypeAlias = Mapping[str, Mapping[str, Any]]


def lag_on_batch(watermark: Watermark | None) -> Refusal | None:
    """Returns why a watermark that follows the clock has no meaning on a batch DataFrame."""
    if not isinstance(watermark, FixedLag):
        return None
    rule = (
        "the rows of a batch DataFrame do not arrive as they happen, so all rows older "
        "than the lag would be late"
    )
    return f"watermark={watermark!r} on a batch DataFrame", rule, "leave watermark out, or read a stream"


def _lag_of_a_port_on_batch(spec: Specification) -> Refusal | None:
    errors = (lag_on_batch(entry.watermark) for entry in spec.ports.values())
    return next((error for error in errors if error is not None), None)


def _not_renamed(spec: Any, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None) -> Any:
    return spec


def _keys_of_input(spec: Any, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    return {name: (INPUT, name) for name in spec.keys}


@dataclass(frozen=True, kw_only=True)
class SpecParts:
    """What all layers have to know of the specifications of a family: functions of a specification.

    A family states what is special about it. The defaults are those of an operator whose emitted rows are new
    ones, that calls no functions of the user, and whose rows are spread over shards by their keys.

    Attributes:
        reads: whether a dict describes a specification of this family. It is called for the families of this
            package. Documents of others name the family.
        to_dict: the specification as a dict of plain values, with every field. That of another package's
            family has the field `family`, with the name of the family.
        from_dict: the specification that a dict describes, given what the user defined, by name.
        describe: what the operator does, as lines of text.
        check_types: checks the types of columns, which are given by port and name (semantics 24.19).
        check_names: refuses other names of columns, given by the user's names, that the user would see.
        boolean_columns: the columns of the input that must be Boolean.
        batch_error: why a batch DataFrame cannot be the input, None if it can.
        for_columns: the specification for inputs with these columns, given by port (semantics 8.5).
        for_delays: the specification for streams whose watermarks have these delays, given by port. A delay
            of None means that rows must not drive the watermark (semantics 36.9). It raises SpecError if the
            specification has a field that then has no effect.
        renamed: the specification with other names of the columns of a port. All columns of the port, if
            given, take the place of "all columns" in a delta.
        with_position: the specification with a source position.
        shard_keys: the columns of a port by which rows are spread over shards; empty if all have one shard.
        one_shard: why only one shard is possible, and a remedy; None if several are possible.
        static_port: the port whose input may be a batch DataFrame next to streams (semantics 36.8), or None.
        check_static: refuses fields that have no effect if the static port has a batch DataFrame.
        calls_users: whether the specification has functions of the user.
        functions: the aggregates and row functions over columns of a port.
        unchanged: the columns of emitted rows that are input columns, with the port and column of each. The
            columns of each port are given.
        carried: the types of the other emitted columns that carry values of input columns unchanged. Given
            are the types of the columns of each port, in any type system, and what builds lists in it.
        instants: the columns of emitted rows that are instants in microseconds.
        emits_again: why emitted rows may be retracted or emitted again (semantics 42.5), None if they are
            not. Such rows cannot be the input of a second operator.
        output_time: the column of emitted rows whose values the output watermark bounds (semantics 42.5). Or
            why these rows have none, and a remedy. Then a second operator makes its own watermark.
        timely_column: the event time of emitted rows, if it is never behind the watermark (semantics 42.11).
        new_columns: the names of columns that are added to the rows of the input, which must not have them.
        more_names: names of emitted columns that are in no field of the specification.
        passed_on: whether the emitted rows are input rows, with the names of the user's DataFrame.
        lengths_ahead: lengths of time, in microseconds, by which an operator looks ahead, that no field has.
        deferrable: the window operator whose messages may wait, if nothing else prevents it, or None.
    """

    # JSON
    reads: Callable[[Mapping[str, Any]], bool]
    to_dict: Callable[[Any], dict[str, Any]]
    from_dict: Callable[[Mapping[str, Any], Users], Any]
    # Words and checks
    describe: Callable[[Any], str]
    check_types: Callable[[Any, Mapping[str, Types]], None]
    check_names: Callable[[Any, Mapping[str, str]], None] = lambda spec, names: None
    boolean_columns: Callable[[Any], set[str]] = lambda spec: set()
    batch_error: Callable[[Any], Refusal | None] = _lag_of_a_port_on_batch
    # Other specifications
    for_columns: Callable[[Any, Mapping[str, set[str]]], Any] = lambda spec, columns: spec
    for_delays: Callable[[Any, Mapping[str, Duration | None]], Any] = lambda spec, delays: spec
    renamed: Callable[[Any, str, Mapping[str, str], tuple[str, ...] | None], Any] = _not_renamed
    with_position: Callable[[Any, Position], Any] = lambda spec, position: replace(spec, position=position)
    # Where rows are processed
    shard_keys: Callable[[Any, str], tuple[str, ...]] = lambda spec, port: spec.ports[port].keys
    one_shard: Callable[[Any], tuple[str, str] | None] = lambda spec: None
    static_port: Callable[[Any], str | None] = lambda spec: None
    check_static: Callable[[Any], None] = lambda spec: None
    # Facts
    calls_users: Callable[[Any], bool] = lambda spec: False
    functions: Callable[[Any, str], tuple[Any, ...]] = lambda spec, port: ()
    lengths_ahead: Callable[[Any], tuple[int, ...]] = lambda spec: ()
    deferrable: Callable[[Any], Any] = lambda spec: None
    # Emitted rows
    unchanged: Callable[[Any, Mapping[str, tuple[str, ...]]], Mapping[str, tuple[str, str]]] = _keys_of_input
    carried: Callable[[Any, Mapping[str, Mapping[str, Any]], Carried], dict[str, Any]] = (
        lambda spec, known, kinds: {}
    )
    instants: Callable[[Any], tuple[str, ...]] = lambda spec: ()
    emits_again: Callable[[Any], Refusal | None] = lambda spec: None
    output_time: Callable[[Any], str | Refusal]
    timely_column: Callable[[Any], str | None] = lambda spec: None
    new_columns: Callable[[Any], tuple[str, ...]] = lambda spec: ()
    more_names: Callable[[Any], tuple[str, ...]] = lambda spec: ()
    passed_on: bool = False


def parts(spec: Specification) -> SpecParts:
    """Returns the parts of the family of a specification."""
    found: SpecParts = part(spec.family.spec)
    return found


def carried_values(functions: tuple[Any, ...], known: Mapping[str, Any], kinds: Carried) -> dict[str, Any]:
    """Returns the types of the functions that return values of their column unchanged, or lists of them.

    Those of user-defined aggregates are among them, as they declare theirs.
    """
    found: dict[str, Any] = {}
    for what in functions:
        user = getattr(what, "user", None)
        if user is not None:
            found[what.name] = kinds.of_name(user.result)
        elif what.column in known and what.fn in _VALUES | _LISTS:
            kind = known[what.column]
            found[what.name] = kinds.list_of(kind) if what.fn in _LISTS else kind
    return found


VALUE_FUNCTIONS = frozenset({"first", "last", "max_by", "min_by", "lag", "lead", "nth_value"})
LIST_FUNCTIONS = frozenset({"collect_list", "first_n", "last_n", "top_n_by"})
# With those that compare the values.
_VALUES = VALUE_FUNCTIONS | {"min", "max", "mode"}
_LISTS = LIST_FUNCTIONS | {"collect_set", "sort_list", "top_n"}
