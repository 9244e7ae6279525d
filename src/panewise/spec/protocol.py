"""What all specifications have in common, and what each family supplies for its specifications."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from panewise.chrono import Duration
from panewise.families import INPUT, Family, part
from panewise.spec.column_types import Type
from panewise.spec.position import Position
from panewise.spec.watermarks import Watermark

Types: TypeAlias = Mapping[str, Type]
Error: TypeAlias = tuple[str, str, str]  # what was given, the rule it breaks, and a remedy


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
    def max_future_skew(self) -> Any:
        """How far an event time may be ahead of processing time, a Duration; None: no limit."""
        ...

    @property
    def watermark(self) -> Watermark | None:
        """Where the watermark comes from; None: from outside."""
        ...

    @property
    def window(self) -> Any:
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


class SpecParts(Protocol):
    """The functions by which all layers treat the specifications of a family."""

    # JSON

    def reads(self, document: Mapping[str, Any]) -> bool:
        """Returns whether a dict describes a specification of this family.

        It is called for the families of this package. Documents of others name the family.
        """
        ...

    def to_dict(self, spec: Any) -> dict[str, Any]:
        """Returns the specification as a dict of plain values, with every field.

        That of another package's family has the field `family`, with the name of the family.
        """
        ...

    def from_dict(self, document: Mapping[str, Any], users: Users) -> Any:
        """Returns the specification that a dict describes; `users` has what the user defined, by name."""
        ...

    def complete(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the dict with the defaults of the fields that it leaves out. It looks up no functions."""
        ...

    # Words and checks

    def describe(self, spec: Any) -> str:
        """Returns a description of what the operator does, as lines of text."""
        ...

    def check_types(self, spec: Any, types: Mapping[str, Types]) -> None:
        """Checks the types of columns, which are given by port and name (semantics 24.19)."""
        ...

    def boolean_columns(self, spec: Any) -> set[str]:
        """Returns the columns of the input that must be Boolean."""
        ...

    def batch_error(self, spec: Any) -> Error | None:
        """Returns why a batch DataFrame cannot be the input, None if it can."""
        ...

    # Facts

    def for_columns(self, spec: Any, columns: Mapping[str, set[str]]) -> Any:
        """Returns the specification for inputs with these columns, given by port (semantics 8.5)."""
        ...

    def for_delays(self, spec: Any, delays: Mapping[str, Duration | None]) -> Any:
        """Returns the specification for streams whose watermarks have these delays, given by port.

        A delay of None means that rows must not drive the watermark (semantics 36.9).

        Raises:
            SpecError: if the specification has a field that then has no effect.
        """
        ...

    def renamed(
        self, spec: Any, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
    ) -> Any:
        """Returns the specification with other names of the columns of a port.

        `all_columns`, if given, takes the place of "all columns" in a delta.
        """
        ...

    def with_position(self, spec: Any, position: Position) -> Any:
        """Returns the specification with a source position."""
        ...

    def shard_keys(self, spec: Any, port: str) -> tuple[str, ...]:
        """Returns the columns of a port by which rows are spread over shards; empty: by no column."""
        ...

    def one_shard(self, spec: Any) -> tuple[str, str] | None:
        """Returns why only one shard is possible, and a remedy; None if several are possible."""
        ...

    def calls_users(self, spec: Any) -> bool:
        """Returns whether the specification has functions of the user."""
        ...

    def functions(self, spec: Any, port: str) -> tuple[Any, ...]:
        """Returns the aggregates and row functions over columns of the port."""
        ...

    def unchanged(self, spec: Any, columns: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, str]]:
        """Returns the columns of emitted rows that are input columns, with the port and column of each.

        `columns` are the columns of each port.
        """
        ...

    def carried(self, spec: Any, known: Mapping[str, Mapping[str, Any]], kinds: Carried) -> dict[str, Any]:
        """Returns the types of the other emitted columns that carry values of input columns unchanged.

        `known` has the types of the columns of each port, in any type system; `kinds` builds lists in it.
        """
        ...

    def instants(self, spec: Any) -> tuple[str, ...]:
        """Returns the columns of emitted rows that are instants in microseconds."""
        ...

    def emits_again(self, spec: Any) -> Error | None:
        """Returns why emitted rows may be retracted or emitted again (semantics 42.5), None if they are not.

        Such rows cannot be the input of a second operator.
        """
        ...

    def output_time(self, spec: Any) -> str | Error:
        """Returns the column of emitted rows whose values the output watermark bounds (semantics 42.5).

        Or why these rows have none, and a remedy. Then a second operator makes its own watermark.
        """
        ...

    def timely_column(self, spec: Any) -> str | None:
        """Returns the event time of emitted rows, if it is never behind the watermark (semantics 42.11)."""
        ...

    def new_columns(self, spec: Any) -> tuple[str, ...]:
        """Returns the names of columns that are added to the rows of the input, which must not have them."""
        ...

    def passed_on(self, spec: Any) -> bool:
        """Returns whether the emitted rows are input rows, with the names of the user's DataFrame."""
        ...


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
