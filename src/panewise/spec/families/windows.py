"""Window operators, as :class:`panewise.spec.family_parts.SpecParts`, and operators made of them."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final, Literal

from panewise.chrono import Duration
from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.types import check_aggregates, columns_of_booleans
from panewise.spec.carried_values import Carried, Known, carried_values
from panewise.spec.codec.documents import DocumentedParts
from panewise.spec.codec.same_aggregates import marked_aggregates
from panewise.spec.evictors import DeltaEvictor
from panewise.spec.families.current_results import result_windows
from panewise.spec.families.window_changes import CHANGEABLE
from panewise.spec.family_parts import ResultWindows, S, emitted_again
from panewise.spec.fields import silently_replaced
from panewise.spec.operators.panes import BOUNDS
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.protocol import Refusal, Types
from panewise.spec.renaming import renamed_fields
from panewise.spec.rules.row_numbering import with_event_time
from panewise.spec.triggers.composite import Trigger, can_fire, fires_early, walk
from panewise.spec.triggers.simple import OnPunctuation
from panewise.spec.type_checks import check_distance, check_entry, check_triggers, check_whole
from panewise.spec.watermarks import has_key_watermarks, row_driven
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import AnyWindow
from panewise.spec.windows.never_late_on_spark import ends_above
from panewise.spec.windows.traits import counted, merging


class PaneParts(DocumentedParts[S]):
    """The parts of operators that emit the panes of a window operator."""

    @abstractmethod
    def operator(self, spec: S) -> WindowOperator:
        """Returns the window operator."""

    def allowed_lateness(self, spec: S, port: str) -> Duration | Literal["unlimited"]:
        """Returns that of the windows."""
        return self.operator(spec).allowed_lateness

    def instants(self, spec: S) -> tuple[str, ...]:
        """Returns the columns of panes that are instants. Bounds of windows of rows are row numbers."""
        operator = self.operator(spec)
        bounds = () if counted(operator.window) else BOUNDS
        stamps = ("timestamp",) if operator.timestamp in ("end", "window_time") else ()
        return (*bounds, *stamps, "processing_time")

    def emits_again(self, spec: S) -> Refusal | None:
        """Returns why panes may be retracted, None if they are not."""
        if self.operator(spec).accumulation != "retracting":
            return None
        return emitted_again("accumulation='retracting'", "use another accumulation, or result.then(...)")

    def row_key(self, spec: S) -> tuple[str, ...]:
        """Returns the keys of panes, and the bounds of their windows."""
        return (*spec.keys, *BOUNDS)

    def has_op(self, spec: S) -> bool:
        """Returns True: panes have it."""
        return True

    def partial_results(self, spec: S) -> Refusal | None:
        """Returns why the last pane of a window is not its result, if it has several panes."""
        operator = self.operator(spec)
        mode = operator.accumulation
        if _one_pane(operator):
            return None
        remedy = "use accumulation='retracting'"
        if mode == "discarding":
            rule = "the last pane of a window contains only the rows since the pane before"
            return f"accumulation={mode!r}", rule, remedy
        if merging(operator.window) and mode != "retracting":
            rule = "only retractions remove the panes of windows that are merged away"
            return f"accumulation={mode!r} of windows that merge", rule, remedy
        return None

    def replaces_rows(self, spec: S) -> str | None:
        """Returns the accumulation, if a pane replaces the one before it."""
        operator = self.operator(spec)
        mode = operator.accumulation
        return f"accumulation={mode!r}" if mode == "accumulating" and not _one_pane(operator) else None

    def output_time(self, spec: S) -> str | Refusal:
        """Returns the timestamp of panes."""
        operator = self.operator(spec)
        if has_key_watermarks(operator.watermark) or counted(operator.window):
            problem = "windows of rows, or StreamTime of each key, before a second operator"
            rule = "the panes have no watermark of all keys that a second operator could follow"
            return problem, rule, "write the panes"
        if operator.timestamp not in ("end", "window_time"):
            problem = f"timestamp={operator.timestamp!r} before a second operator"
            rule = "the event time of panes is their timestamp, 'window_time' or 'end' (semantics 42.5)"
            return problem, rule, "set timestamp='window_time'"
        return "timestamp"

    def timely_column(self, spec: S) -> str | None:
        """Returns the timestamp of panes, if there are no panes after the end of their window."""
        operator, time = self.operator(spec), self.output_time(spec)
        in_time = operator.lateness_us == 0 and ends_above(operator.window, operator.timestamp)
        return time if in_time and isinstance(time, str) else None


class _WindowParts(PaneParts[WindowOperator]):
    kind = WindowOperator
    changeable = CHANGEABLE

    def operator(self, spec: WindowOperator) -> WindowOperator:
        return spec

    def drawn_windows(self, spec: WindowOperator) -> AnyWindow:
        return spec.window

    def limits_windows(self, spec: WindowOperator) -> bool:
        return spec.max_windows is not None

    def check_types(self, spec: WindowOperator, types: Mapping[str, Types]) -> None:
        known, evictor = types[INPUT], spec.evictor
        check_entry(spec, known)
        check_aggregates(spec.measures, known)
        check_triggers(spec.trigger, known)
        if isinstance(evictor, DeltaEvictor) and evictor.column in known:
            rule = "an evictor takes the difference of whole numbers, doubles or timestamps"
            check_distance(f"{evictor!r}", evictor.column, known[evictor.column], rule)
            check_whole(f"{evictor!r}", "threshold", evictor.threshold, known[evictor.column])

    def boolean_columns(self, spec: WindowOperator) -> set[str]:
        """Returns the columns of punctuations and of Boolean aggregates."""
        return punctuations(spec.trigger) | columns_of_booleans(spec.aggregates)

    def for_columns(self, spec: WindowOperator, columns: Mapping[str, set[str]]) -> WindowOperator:
        """Returns the operator, with the default event time if the input has that column (semantics 8.5)."""
        timed: WindowOperator = with_event_time(spec, columns[INPUT])
        return timed

    def renamed(self, spec: WindowOperator, port: str, names: Mapping[str, str]) -> WindowOperator:
        changes = renamed_fields(spec, port, names)
        if not spec.accumulation_given:
            changes["accumulation"] = None  # a chain may still choose its own default
        return silently_replaced(spec, **changes)

    def with_whole_rows(self, spec: WindowOperator, columns: tuple[str, ...]) -> WindowOperator:
        return silently_replaced(spec, delta=columns) if spec.whole_rows else spec

    def one_shard(self, spec: WindowOperator) -> tuple[str, str] | None:
        """Returns why the rows of all keys are combined, if they are."""
        if row_driven(spec.watermark) is not None and spec.evaluate == "record":
            rule = (
                "with evaluate='record' each row moves the watermark for the next row of any "
                "key, so there is one shard (semantics 12.9)"
            )
            return rule, "leave shards out, or use evaluate='batch'"
        if counted(spec.window) and merging(spec.window):
            rule = "a session of rows counts the rows of all keys, so there is one shard (semantics 9.7)"
            return rule, "leave shards out, or use a session with a gap of time"
        return None

    def calls_users(self, spec: WindowOperator) -> bool:
        """Returns whether the operator has a custom window or a user-defined aggregate."""
        return isinstance(spec.window, Custom) or any(what.user is not None for what in spec.aggregates)

    def functions(self, spec: WindowOperator, port: str) -> tuple[Aggregate, ...]:
        return spec.aggregates

    def marked(self, old: WindowOperator, new: WindowOperator, added_aggregates: Any) -> WindowOperator:
        aggregates = marked_aggregates(old.aggregates, new.aggregates, added_aggregates)
        return new if aggregates == new.aggregates else silently_replaced(new, aggregates=aggregates)

    def deferrable(self, spec: WindowOperator) -> bool:
        return not self.limits_windows(spec)

    def result_windows(self, spec: WindowOperator) -> ResultWindows | Refusal:
        return result_windows(spec)

    def carried(self, spec: WindowOperator, known: Known, kinds: Carried) -> dict[str, Any]:
        """Returns the types of aggregates that return input values, and of the delta."""
        carried = carried_values(spec.aggregates, known[INPUT], kinds)
        if spec.delta is not False:
            carried["delta"] = kinds.rows_of(tuple(known[INPUT]) if spec.delta is True else spec.delta)
        return carried


def _one_pane(operator: WindowOperator) -> bool:
    """Returns whether a window has one pane, which is emitted when it expires."""
    trigger = operator.trigger
    return not can_fire(trigger) or (operator.lateness_us == 0 and not fires_early(trigger))


def punctuations(trigger: Trigger) -> set[str]:
    """Returns the columns of the punctuations in a trigger."""
    return {node.column for node in walk(trigger) if isinstance(node, OnPunctuation)}


PARTS: Final = _WindowParts()
