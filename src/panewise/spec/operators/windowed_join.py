"""Windows over a join: both in one operator (semantics 42)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from panewise.errors import SpecError
from panewise.families import CHAIN, INPUT, JOIN, WINDOWED_JOIN, WINDOWS, Family
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.family_parts import parts
from panewise.spec.fields import refuse_fields
from panewise.spec.operators.chain import Chain
from panewise.spec.operators.join.checks import check_has_event_times
from panewise.spec.operators.join.columns import JOIN_TIME, OTHER, Selected, all_columns, side_of
from panewise.spec.operators.join.side_entry import SideEntry
from panewise.spec.operators.windows import WindowOperator, data_loss_reason
from panewise.spec.protocol import Shown, is_specification
from panewise.spec.source_position import Position
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.traits import counted, gap_columns

if TYPE_CHECKING:  # for annotations alone, as JoinOperator.then makes windowed joins and needs this module
    from panewise.spec.operators.join.operator import JoinOperator

_APART = "give the result of the join to windowed(...)"


@dataclass(frozen=True)
class WindowedJoin(Shown):
    """A join, and a window operator or chain over the rows that it emits. :meth:`JoinOperator.then` makes it.

    The output consists of the panes, and of the late and invalid rows of the two sides of the join.

    Args:
        join: the join. It emits no retractions.
        windows: the window operator or chain, with the event time "join_time". Its keys are columns that have
            the values of keys of the join in every emitted row. Its watermark is the output watermark of the
            join.

    Raises:
        SpecError: if a value breaks a rule, or a field has no effect; the message says which.

    >>> from panewise import Interval, JoinOperator, Side, Tumbling
    >>> from panewise import functions as F
    >>> join = JoinOperator(left=Side(keys=["shop", "id"]), right=Side(keys=["shop", "id"]),
    ...     match=Interval(0, "1 hour"))
    >>> spec = join.then(keys=["shop"], window=Tumbling("1 day"), aggregates=[F.count().alias("pairs")])
    >>> spec.keys, spec.shard_keys("right")
    (('shop',), ('shop',))

    Source: semantics 42.
    """

    family: ClassVar[Family] = WINDOWED_JOIN

    join: "JoinOperator"
    windows: WindowOperator | Chain

    def __post_init__(self) -> None:
        if not is_specification(self.join, JOIN):
            rule = "the join below windows is a JoinOperator"
            raise SpecError(f"join={self.join!r}", rule, "give one, or call its method then")
        if not is_specification(self.windows, WINDOWS, CHAIN):
            rule = "a WindowOperator or a Chain follows the join"
            raise SpecError(f"windows={self.windows!r}", rule, "give one")
        _check_join(self.join)
        _check_fields(self.operator)
        _check_windows(self.operator)
        for key in self.operator.keys:
            _check_key(self, key)

    @property
    def operator(self) -> WindowOperator:
        """The window operator, of a chain the first one."""
        return self.windows.ports[INPUT]

    @property
    def ports(self) -> dict[str, SideEntry]:
        """The input ports, which are those of the join."""
        return self.join.ports

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the panes."""
        return self.windows.keys

    @property
    def position(self) -> Position | None:
        """The columns of the source position of the left side."""
        return self.join.position

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "WindowedJoin":
        """Returns the same with one more stage, whose rows are the panes; see :meth:`WindowOperator.then`."""
        return replace(self, windows=self.windows.then(keys=keys, aggregates=aggregates))

    def shard_keys(self, side: str) -> tuple[str, ...]:
        """Returns the key columns of a side by which rows are spread over shards.

        These are the keys of the join that the windows and all stages keep.
        """
        shared = parts(self.windows).shard_keys(self.windows, INPUT)
        places, keys = key_columns(self.join), self.join.sides[side].keys
        return tuple(keys[places[column]] for column in shared)


def key_columns(join: "JoinOperator") -> dict[str, int]:
    """Returns the emitted columns that have the values of a key in every row, with the place of that key.

    A column of one side has not if rows without a row of this side are emitted.
    """
    selected = join.select
    if selected is None:
        names = {side: join.sides[side].keys for side in join.emitted_sides}
        selected = all_columns(join.sides, names)
    places = dict[str, int]()
    for column in selected:
        side = side_of(column.side)
        if column.column in join.sides[side].keys and not _may_lack(join, column):
            places[column.name] = join.sides[side].keys.index(column.column)
    return places


def _may_lack(join: "JoinOperator", column: Selected) -> bool:
    """Returns whether rows are emitted in which the column is null because its side has no row."""
    return OTHER.get(column.side) in join.outer_sides and join.how != "anti"


def _check_join(join: "JoinOperator") -> None:
    check_has_event_times(join, "a join with windows over it")
    if join.emits_again is not None:
        rule = "windows over a join take rows that are emitted once, and are not retracted"
        raise SpecError(f"then after {join.emits_again}", rule, "leave it out")
    if join.evaluate == "record":
        rule = "the rows of a join that an event emits are one batch of the windows over it (semantics 42.2)"
        raise SpecError("then after evaluate='record'", rule, "use evaluate='batch'")


def _check_fields(spec: WindowOperator) -> None:
    """Refuses fields that would have no effect, or another meaning."""
    if counted(spec.window):
        rule = "windows over a join follow its output watermark, which is an instant"
        raise SpecError(f"then with {spec.window!r}", rule, f"use windows of time, or {_APART}")
    late = "a row that a join emits is never behind its output watermark, so none is late (semantics 40.4)"
    clock = "the watermark is the output watermark of the join"
    order = "source positions belong to rows of the sides, not to rows that the join emits"
    refused = {
        "time": (spec.time != "event", clock),
        "watermark": (spec.watermark is not None, clock),
        "allowed_lateness": (spec.lateness_us != 0, late),
        "drop_by": (spec.drop_by != "window", late),
        "position": (spec.position is not None, order),
        "max_future_skew": (spec.max_future_skew is not None, "the sides of the join validate rows"),
        "max_windows": (spec.max_windows is not None, "windows over a join have no output for late rows"),
        "delta": (spec.delta is not False, "a delta contains rows of an input of the operator"),
    }
    refuse_fields(spec, refused, after=" after a join")
    if spec.event_time != JOIN_TIME:
        rule = f"the event time of the rows of a join is {JOIN_TIME}"
        raise SpecError(f"event_time={spec.event_time!r} after a join", rule, f"give {JOIN_TIME!r}")
    if spec.keys and not spec.null_keys:
        rule = "the sides of the join validate rows"
        raise SpecError("null_keys=False after a join", rule, "give it to the sides of the join")


def _check_windows(spec: WindowOperator) -> None:
    """Refuses windows for which rows can be invalid or late: windows over a join have no output for these."""
    if isinstance(spec.window, Custom) or gap_columns(spec.window):
        rule = "windows over a join have no output for rows without a window or a valid gap"
        raise SpecError(f"then with {spec.window!r}", rule, _APART)
    reason = data_loss_reason(spec)
    if reason is not None:
        rule = "windows over a join have no output for rows that arrive after that"
        raise SpecError(f"then, and {reason}", rule, f"repeat the trigger, or {_APART}")


def _check_key(spec: WindowedJoin, key: str) -> None:
    known = key_columns(spec.join)
    if key not in known:
        rule = (
            f"rows of one key of the windows are in one shard, so it is a key of the join in every emitted "
            f"row: one of {sorted(known)}"
        )
        raise SpecError(f"then: key {key!r}", rule, f"name one of these, or {_APART}")


def properties_of_emitted(join: "JoinOperator", columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns a property, such as the type, of the columns that a join emits, given that of its inputs.

    >>> from panewise import Interval, JoinOperator, Side
    >>> join = JoinOperator(left=Side(keys=["k"]), right=Side(keys=["k"], prefix="r_"), match=Interval(0, 5))
    >>> columns = {"left": {"k": "string", "v": "int"}, "right": {"k": "string", "v": "double"}}
    >>> properties_of_emitted(join, columns)
    {'k': 'string', 'v': 'int', 'r_v': 'double'}
    """
    known = {}
    for column in join.selected(columns):
        side = side_of(column.side)
        if column.column in columns[side]:
            known[column.name] = columns[side][column.column]
    return known
