"""Chains: a window operator, and stages that inherit its windows and aggregate its panes (semantics 30)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from panewise.errors import SpecError
from panewise.families import CHAIN, INPUT, WINDOWS, Family
from panewise.spec.aggregates.aggregate import LISTS, Aggregate, check_some
from panewise.spec.fields import check_columns, set_fields, several, silently_replaced
from panewise.spec.operators.panes import PANE_COLUMNS, check_names, default_accumulation, with_timestamp
from panewise.spec.protocol import Shown, is_specification
from panewise.spec.source_position import Position
from panewise.spec.watermarks import has_key_watermarks
from panewise.spec.windows.traits import counted, merging

if TYPE_CHECKING:  # for annotations alone, as WindowOperator.then makes chains and needs this module
    from panewise.spec.operators.windows import WindowOperator


@dataclass(frozen=True)
class Stage:
    """A stage of a chain. Its rows are the panes of the stage before it, or of the operator.

    It groups these panes by its keys and by their window.

    Args:
        aggregates: those of its panes, one or more; they read keys and aggregates of the stage before.
        keys: keys or aggregates of the stage before. Without keys there is one pane for each window.

    Raises:
        SpecError: if there are no aggregates, or a value is of the wrong type.

    Source: semantics 30; S4 "window propagation".
    """

    aggregates: tuple[Aggregate, ...]
    keys: tuple[str, ...] = ()

    def __init__(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> None:
        set_fields(self, aggregates=several("aggregates", aggregates), keys=several("keys", keys))
        check_columns(self.keys)
        check_some(self.aggregates, "F.sum('total')")

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns of the stage before that this stage reads, each once."""
        return tuple(
            dict.fromkeys(
                (*self.keys, *(column for aggregate in self.aggregates for column in aggregate.columns))
            )
        )


@dataclass(frozen=True)
class Chain(Shown):
    """A window operator and the stages that follow it. :meth:`WindowOperator.then` creates it.

    The operator determines the windows, and when panes are emitted. The output consists of the panes of the
    last stage, and of the late and invalid rows of the operator.

    Args:
        first: the window operator. If its `accumulation` was not given and the stages need retractions, it
            becomes "retracting".
        stages: the stages, in order; one or more.

    Raises:
        SpecError: if a stage reads a column that the stage before does not have, if a result would only be
            right with retractions, or if chains do not support a field of the operator (semantics 30.6).

    >>> from panewise import Tumbling, WindowOperator
    >>> from panewise import functions as F
    >>> first = WindowOperator(keys=["origin", "carrier"], window=Tumbling("1 hour"),
    ...     aggregates=[F.count().alias("flights")])
    >>> chain = first.then(keys=["origin"], aggregates=[F.sum("flights").alias("flights"),
    ...     F.max("flights").alias("most")])
    >>> chain.keys, chain.shared_keys
    (('origin',), ('origin',))

    Source: semantics 30; S4 "window propagation".
    """

    family: ClassVar[Family] = CHAIN

    first: "WindowOperator"
    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        if not is_specification(self.first, WINDOWS):
            rule = "a chain begins with a WindowOperator"
            raise SpecError(f"first={self.first!r}", rule, "give one, or call its method then")
        set_fields(self, stages=several("stages", self.stages))
        if not self.stages or not all(isinstance(stage, Stage) for stage in self.stages):
            rule = "one or more stages follow the first operator"
            raise SpecError(f"stages={self.stages!r}", rule, "call then(...)")
        set_fields(self, first=_with_default(self.first, self.stages))
        _check_first(self.first)
        before: WindowOperator | Stage = self.first
        for stage in self.stages:
            _check_columns(stage, before)
            _check_names(stage, self.first)
            _check_algebra(stage, before, self.first)
            before = stage

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "Chain":
        """Returns the chain with one more stage; see :meth:`WindowOperator.then`."""
        return Chain(self.first, (*self.stages, Stage(aggregates=aggregates, keys=keys)))

    @property
    def ports(self) -> "dict[str, WindowOperator]":
        """The input port, which is that of the window operator."""
        return {INPUT: self.first}

    @property
    def position(self) -> Position | None:
        """The columns of the source position."""
        return self.first.position

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the panes that the chain emits."""
        return self.stages[-1].keys

    @property
    def shared_keys(self) -> tuple[str, ...]:
        """The keys of the operator that all stages have. Panes that differ in one are not combined."""
        return tuple(key for key in self.first.keys if all(key in stage.keys for stage in self.stages))

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The input columns that the chain reads, each once."""
        return self.first.columns_read

    def measures(self, stage: Stage) -> tuple[Aggregate, ...]:
        """Returns the aggregates of a stage, and one for the timestamp if necessary (semantics 30.6)."""
        return with_timestamp(stage.aggregates, self.first.timestamp, "timestamp")


def stages_of(spec: "WindowOperator | Chain") -> tuple[Stage, ...]:
    """Returns the stages that follow the window operator: none if the specification is only this operator."""
    return spec.stages if isinstance(spec, Chain) else ()


def last_stage(spec: "WindowOperator | Chain") -> "WindowOperator | Stage":
    """Returns the stage whose panes are emitted: the last one of a chain, or the window operator itself."""
    return spec.stages[-1] if isinstance(spec, Chain) else spec


def respecified(spec: "WindowOperator | Chain", **fields: Any) -> "WindowOperator | Chain":
    """Returns a specification whose window operator has other fields.

    If the accumulation was not given, it is still open: the stages of a chain choose it.

    Raises:
        SpecError: if a value breaks a rule, or the stages of a chain do not support it.
    """
    if isinstance(spec, Chain):
        return Chain(_replaced(spec.first, fields), spec.stages)
    return _replaced(spec, fields)


def _replaced(first: "WindowOperator", fields: Mapping[str, Any]) -> "WindowOperator":
    return replace(first, **({} if first.accumulation_given else {"accumulation": None}) | dict(fields))


def needs_retractions(spec: "WindowOperator | Chain") -> bool:
    """Returns whether the results of a chain are only right with retractions (semantics 30.4, 30.5)."""
    first, stages = spec.ports[INPUT], stages_of(spec)
    needed = chain_accumulation(first.window, first.aggregates, stages, only_updated=False)
    return bool(stages) and needed == "retracting"


def chain_accumulation(
    window: Any, aggregates: Iterable[Aggregate], stages: Iterable[Stage], *, only_updated: bool
) -> Literal["discarding", "accumulating", "retracting"]:
    """Returns the default of `accumulation` for an operator with these stages (semantics 21, 30.4, 30.5)."""
    before, changing = {aggregate.name for aggregate in aggregates}, False
    for stage in stages:
        changing = changing or merging(window) or any(key in before for key in stage.keys)
        before = {aggregate.name for aggregate in stage.aggregates}
    return "retracting" if changing and not only_updated else default_accumulation(window)


def _with_default(first: "WindowOperator", stages: tuple[Stage, ...]) -> "WindowOperator":
    """Returns the operator, with the accumulation that these stages need if none was given."""
    needed = chain_accumulation(first.window, first.aggregates, stages, only_updated=first.only_updated)
    if first.accumulation_given or needed == first.accumulation:
        return first
    return silently_replaced(first, accumulation=needed)


def _check_first(first: "WindowOperator") -> None:
    """Refuses fields of the operator that chains do not support (semantics 30.6)."""
    if has_key_watermarks(first.watermark):
        rule = (
            "a stage combines panes of several keys, and with StreamTime each key has "
            "its own watermark (semantics 30.6)"
        )
        remedy = "give per='all', or use another watermark"
        raise SpecError(f"then after watermark={first.watermark!r}", rule, remedy)
    if counted(first.window):
        rule = (
            "the bounds of windows of rows number the input rows of the operator, which "
            "a stage does not receive (semantics 30.6)"
        )
        remedy = "use windows of time, or a second query over the panes"
        raise SpecError(f"then after {first.window!r}", rule, remedy)
    if first.max_windows is not None:
        rule = "a stage takes the panes of all windows of an instant together (semantics 15.27)"
        remedy = "leave max_windows out, or use a second query over the panes"
        raise SpecError(f"then after max_windows={first.max_windows!r}", rule, remedy)
    if first.delta:
        rule = (
            "a delta contains rows of the operator, and a chain emits only the panes of "
            "its last stage (semantics 30.6)"
        )
        remedy = "leave delta out, or give the operator a collect_list"
        raise SpecError(f"then after delta={first.delta!r}", rule, remedy)


def _check_columns(stage: Stage, before: "WindowOperator | Stage") -> None:
    known = (*before.keys, *(aggregate.name for aggregate in before.aggregates))
    for name in stage.columns_read:
        if name not in known:
            rule = f"a stage reads keys and aggregates of the one before it, which are {list(known)}"
            raise SpecError(f"then: column {name!r}", rule, "use one of these, or add it to the stage before")


def _check_names(stage: Stage, first: "WindowOperator") -> None:
    own = PANE_COLUMNS if first.timestamp is None else (*PANE_COLUMNS, "timestamp")
    check_names(stage.keys, stage.aggregates, own, "give aggregates an .alias(...)", "then: ")


def _check_algebra(stage: Stage, before: "WindowOperator | Stage", first: "WindowOperator") -> None:
    """Refuses lists as keys, and stages whose results could not be right (semantics 30.1, 30.4, 30.5)."""
    aggregates = {aggregate.name: aggregate for aggregate in before.aggregates}
    for key in stage.keys:
        if key in aggregates and aggregates[key].fn in LISTS:
            problem = f"then: key {key!r}, a {aggregates[key].fn}"
            raise SpecError(problem, "a key is a simple value", "use a key or another aggregate")
    if first.accumulation != "accumulating":
        return
    if merging(first.window):
        rule = "when windows merge, only a retraction removes their old panes from the next stage"
        remedy = "use accumulation='retracting'"
        raise SpecError(f"then after {first.window!r}, accumulation='accumulating'", rule, remedy)
    changing = [key for key in stage.keys if key in aggregates]
    if changing:
        rule = (
            "the value of an aggregate changes, and only a retraction removes the previous "
            "pane from its former key"
        )
        problem = f"then: key {changing[0]!r}, an aggregate, accumulation='accumulating'"
        raise SpecError(problem, rule, "use accumulation='retracting'")
