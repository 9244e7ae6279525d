"""Policy windows, as :class:`panewise.spec.family_parts.SpecParts`."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.types import check_aggregates, columns_of_booleans
from panewise.spec.carried_values import Carried, Known, carried_values
from panewise.spec.codec.documents import DocumentedParts
from panewise.spec.column_types import BOOLEAN
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.operators.policy.policies import DeltaPolicy, PunctPolicy
from panewise.spec.protocol import Refusal, Types
from panewise.spec.type_checks import check_delta, check_entry


class _PolicyParts(DocumentedParts[StreamWindow]):
    kind, own_fields = StreamWindow, ("stream_window",)

    def check_names(self, spec: StreamWindow, names: Mapping[str, str]) -> None:
        """Refuses other names of columns that a listener would see."""
        if spec.listener is None:
            return
        columns = names if spec.columns is None else spec.columns
        refused = [name for name in (*spec.partition_by, *columns, *self.more_names(spec)) if name in names]
        if refused:
            rule = "an operator renames columns that begin with '__', and a listener would see the new names"
            remedy = "give columns=[...] without it, or rename it"
            raise SpecError(f"listener={spec.listener!r} with {refused[0]!r}", rule, remedy)

    def more_names(self, spec: StreamWindow) -> tuple[str, ...]:
        """Returns the names of a listener's outputs."""
        return () if spec.listener is None else tuple(name for name, _ in spec.listener.outputs)

    def check_types(self, spec: StreamWindow, types: Mapping[str, Types]) -> None:
        """Checks the types of the columns of policies and aggregates."""
        known = types[INPUT]
        check_entry(spec.ports[INPUT], known)
        for policy in (spec.evict, spec.trigger):
            if isinstance(policy, DeltaPolicy) and policy.column in known:
                check_delta(policy, known[policy.column])
            if isinstance(policy, PunctPolicy) and known.get(policy.column, BOOLEAN) != BOOLEAN:
                rule = "a Boolean column says which rows are markers (semantics 10.5)"
                problem = f"punct over {policy.column}: {known[policy.column]}"
                raise SpecError(problem, rule, "make one before the operator")
        check_aggregates(spec.aggregates, known)

    def boolean_columns(self, spec: StreamWindow) -> set[str]:
        """Returns the columns of markers and of Boolean aggregates."""
        policies = [policy.column for policy in (spec.evict, spec.trigger) if isinstance(policy, PunctPolicy)]
        return {*policies, *columns_of_booleans(spec.aggregates)}

    def batch_error(self, spec: StreamWindow) -> Refusal | None:
        """Refuses policies that wait for processing time to pass."""
        if spec.timed is None:
            return None
        rule = "a batch DataFrame is processed at one time, so no processing time passes (semantics 10.25)"
        return f"{spec.timed} on a batch DataFrame", rule, "use delta over a timestamp, or read a stream"

    def one_shard(self, spec: StreamWindow) -> tuple[str, str] | None:
        """Returns which policy concerns all partitions, if one does."""
        if spec.one_place is None:
            return None
        return f"{spec.one_place}: one shard has all partitions (semantics 10.25)", "leave shards out"

    def calls_users(self, spec: StreamWindow) -> bool:
        return spec.listener is not None or any(what.user is not None for what in spec.aggregates)

    def functions(self, spec: StreamWindow, port: str) -> tuple[Aggregate, ...]:
        return spec.aggregates

    def carried(self, spec: StreamWindow, known: Known, kinds: Carried) -> dict[str, Any]:
        """Returns the types of aggregates that return input values, and of the tuples of an event."""
        carried = carried_values(spec.aggregates, known[INPUT], kinds)
        if not spec.aggregates and spec.listener is None:
            carried["tuples"] = kinds.rows_of(spec.columns or tuple(known[INPUT]))
        return carried

    def instants(self, spec: StreamWindow) -> tuple[str, ...]:
        return ("processing_time",)

    def output_time(self, spec: StreamWindow) -> Refusal:
        """Refuses it."""
        rule = "events have no event time, and no watermark that a second operator could follow"
        remedy = "use windows of rows or of processing time"
        return "the events of policy windows before a second operator", rule, remedy


PARTS: Final = _PolicyParts()
