"""The interpreter of policy windows, one tuple at a time (semantics 10)."""

from collections.abc import Iterable
from copy import deepcopy
from itertools import takewhile
from typing import Any

from panewise.errors import InputError
from panewise.oracle.aggregate.aggregates import aggregate
from panewise.oracle.columns import checked_types
from panewise.oracle.outputs import Output, empty_output, rows_after_finish
from panewise.oracle.policy.partition import (
    Partition,
    PartitionListener,
    Tuple,
    invalid_tuple_reason,
    is_marker,
)
from panewise.oracle.policy.partitions import Partitions
from panewise.oracle.received_offsets import ReceivedOffsets
from panewise.oracle.rows import Row, arrival_order, exceeds, invalid_reason, read_row
from panewise.spec import StreamWindow
from panewise.spec.operators.policy.events import Evictions
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, PartitionAge, TimePolicy


class PolicyInterpreter:
    """Interprets one policy window; takes events as :class:`panewise.oracle.Interpreter` does.

    >>> from panewise.streamwindow import StreamWindow, count
    >>> oracle = PolicyInterpreter(StreamWindow.tumbling(count(2)))
    >>> [(pane["event"], pane["tuples"]) for pane in oracle.add([{"v": 1}, {"v": 2}])["panes"]]
    [('INSERTION', [{'v': 1}]), ('INSERTION', [{'v': 2}]), ('EVICTION', [{'v': 1}, {'v': 2}])]
    """

    def __init__(self, spec: StreamWindow, types: dict[str, str] | None = None) -> None:
        self._spec = spec
        self._types = checked_types(types)
        self._now = 0
        self._finished = False
        self._partitions = Partitions(spec)
        self._evictions = Evictions(spec.partition_eviction, self._partitions)
        self._positions = ReceivedOffsets()
        self._checkpoint: tuple[Partitions, ReceivedOffsets] | None = None
        self._output: Output = {}

    # Input events

    def add(self, rows: Iterable[dict[str, Any]]) -> Output:
        """Adds rows, which are processed one at a time in arrival order (semantics 10.1).

        Raises:
            InputError: after finish.
        """
        if self._finished:
            raise rows_after_finish()
        self._begin()
        for row in arrival_order(self._spec.tuples, self._types, list(rows)):
            outcome = self._row(row)
            self._output["counts"]["rows_in"] += 1
            self._output["counts"][outcome] += 1
        return self._output

    def clock(self, to: int) -> Output:
        """Reads the clock (semantics 10.10)."""
        self._begin()
        self._now = max(self._now, to)
        self._create_only_partition()
        self._act_on_time()
        return self._output

    def watermark(self, to: int, source: str | None = None) -> Output:
        """Does nothing: policy windows have no event time."""
        return empty_output()

    def finish(self) -> Output:
        """Ends the input: purges every partition (semantics 10.12)."""
        self._begin()
        if self._finished:
            return self._output
        self._create_only_partition()
        self._finished = True
        for partition in self._partitions.in_order():
            if self._spec.flush_on_final and partition.tuples:
                self._tumble(partition)
            self._partitions.remove(partition)
            self._raise("FINAL", partition, partition.tuples)
        self._evictions.requested.clear()
        return self._output

    def evict(self, named: dict[str, Any]) -> Output:
        """Evicts a partition that is named by the columns of `partition_by` (semantics 10.23).

        Raises:
            InputError: if the name does not consist of these columns, or there are none.
        """
        self._begin()
        key = self._partitions.key(named)
        if key in self._partitions:
            self._evict_partition(self._partitions[key])
            self._evict_requested()
        return self._output

    def drain(self) -> Output:
        """Completes all outstanding work, of which there is never any (semantics 10.21)."""
        return empty_output()

    def checkpoint(self) -> Output:
        """Saves the state, to which :meth:`reset` returns (semantics 10.21)."""
        self._checkpoint = deepcopy((self._partitions, self._positions))
        return empty_output()

    def reset(self) -> Output:
        """Returns to the state of the last checkpoint; what is due then happens at once (semantics 10.22).

        Raises:
            InputError: if there is no checkpoint.
        """
        if self._checkpoint is None:
            rule = "a reset returns to the last checkpoint"
            raise InputError("a reset without a checkpoint", rule, "make a checkpoint before it")
        self._begin()
        self._restore(*deepcopy(self._checkpoint))
        self._create_only_partition()
        self._act_on_time()
        return self._output

    def reset_to_initial(self) -> Output:
        """Purges all partitions, marks and listeners without an event (semantics 10.22)."""
        self._restore(Partitions(self._spec), ReceivedOffsets())
        return empty_output()

    def windows(self) -> list[dict[str, Any]]:
        """Returns the stored partitions, with the number of their tuples, in the order of their keys."""
        return self._partitions.windows()

    def progress(self) -> dict[str, Any]:
        """Returns the clock, and the stored partitions with their tuples. There is no watermark."""
        windows = self._partitions.windows_with_rows()
        return {"processing_time": self._now, "watermark": None, "windows": windows}

    def _restore(self, partitions: Partitions, positions: ReceivedOffsets) -> None:
        self._partitions, self._positions = partitions, positions
        self._evictions = Evictions(self._spec.partition_eviction, partitions)

    def _begin(self) -> None:
        """Begins the output of an event."""
        self._output = empty_output()

    # Rows (semantics 10.1, 10.7 to 10.9, 10.11)

    def _row(self, added: dict[str, Any]) -> str:
        tuples = self._spec.tuples
        reason = invalid_reason(tuples, self._types, added, self._now)
        if reason is None:
            row = read_row(tuples, self._types, added, self._now)
            if self._positions.is_replay(self._spec.position, row.values):
                return "replays"
            reason = invalid_tuple_reason(self._spec, row)
        if reason is not None:
            self._output["invalid"].append({"row": dict(added), "reason": reason})
            return "invalid"
        if is_marker(self._spec, row):
            self._create_only_partition()
            for partition in self._partitions.in_order():
                self._tumble(partition)
                self._evict_requested()
        else:
            self._insert(row)
        return "applied"

    def _insert(self, row: Row) -> None:
        begins = row.key not in self._partitions
        partition = Partition(row.key, self._now) if begins else self._partitions[row.key]
        self._partitions.put(partition)
        if begins:
            self._start(partition)
        columns = row.values if self._spec.columns is None else self._spec.columns
        shown = {name: value for name, value in row.values.items() if name in columns}
        new = Tuple(shown, row.values, self._now)
        if self._spec.kind == "tumbling":
            self._into_tumbling(partition, new)
        else:
            self._into_sliding(partition, new)
        self._evict_requested()
        self._make_room()

    def _into_tumbling(self, partition: Partition, new: Tuple) -> None:
        evict = self._spec.evict
        if (
            isinstance(evict, DeltaPolicy)
            and partition.tuples
            and exceeds(evict, new.values, partition.tuples[0].values)
        ):
            self._tumble(partition)
        self._enter(partition, new)
        if isinstance(evict, CountPolicy) and len(partition.tuples) == evict.n:
            self._tumble(partition)

    def _into_sliding(self, partition: Partition, new: Tuple) -> None:
        evict, trigger = self._spec.evict, self._spec.trigger
        if isinstance(trigger, DeltaPolicy):
            if partition.reference is None:
                partition.reference = new
            elif exceeds(trigger, new.values, partition.reference.values):
                partition.reference = new
                self._trigger(partition)
        if isinstance(evict, DeltaPolicy):
            leaving = list(takewhile(lambda old: exceeds(evict, new.values, old.values), partition.tuples))
            if leaving:
                self._full(partition)
                self._evict(partition, leaving)
        if isinstance(evict, CountPolicy) and len(partition.tuples) == evict.n:
            self._evict(partition, partition.tuples[:1])
        self._enter(partition, new)
        if isinstance(evict, CountPolicy) and len(partition.tuples) == evict.n:
            self._full(partition)
        if isinstance(trigger, CountPolicy):
            partition.untriggered += 1
            if partition.untriggered == trigger.n:
                partition.untriggered = 0
                self._trigger(partition)

    # Creation of partitions, and time (semantics 10.6, 10.10)

    def _create_only_partition(self) -> None:
        """Creates, once, the only partition of an operator without `partition_by` (semantics 10.6)."""
        if not self._spec.partition_by and () not in self._partitions and not self._finished:
            self._partitions.put(Partition((), self._now))
            self._start(self._partitions[()])

    def _start(self, partition: Partition) -> None:
        if self._spec.kind == "sliding" and isinstance(self._spec.evict, TimePolicy):
            self._full(partition)

    def _act_on_time(self) -> None:
        """Does what is due at the current processing time, partition by partition (semantics 10.10)."""
        evict, trigger, eviction = self._spec.evict, self._spec.trigger, self._spec.partition_eviction
        for partition in self._partitions.in_order():
            if isinstance(evict, TimePolicy) and self._spec.kind == "sliding":
                leaving = [old for old in partition.tuples if self._now - old.arrived > evict.duration.us]
                if leaving:
                    self._evict(partition, leaving)
            if (
                isinstance(evict, TimePolicy)
                and self._spec.kind == "tumbling"
                and self._now - partition.acted >= evict.duration.us
            ):
                partition.acted = self._now
                self._tumble(partition)
            if isinstance(trigger, TimePolicy) and self._now - partition.acted >= trigger.duration.us:
                partition.acted = self._now
                if partition.changed or not self._spec.skip_unchanged:
                    self._trigger(partition)
            if isinstance(eviction, PartitionAge) and self._now - partition.fed >= eviction.duration.us:
                self._evict_partition(partition)
            self._evict_requested()

    # Partition eviction (semantics 10.14, 10.26)

    def _make_room(self) -> None:
        if not self._partitions.too_many:
            return
        for partition in self._partitions.in_order():
            if partition.tuples:
                break
            self._evict_partition(partition)
            self._evict_requested()
        while self._partitions.too_many:
            self._evict_partition(next(self._partitions.in_order()))
            self._evict_requested()

    def _evict_partition(self, partition: Partition) -> None:
        self._partitions.remove(partition)
        self._raise("PARTITION_EVICTION", partition, partition.tuples)

    def _evict_requested(self) -> None:
        """Evicts the partitions whose eviction listeners have requested, in that order (semantics 10.26)."""
        while (key := self._evictions.next()) is not None:
            if key in self._partitions:
                self._evict_partition(self._partitions[key])

    # Events of partitions (semantics 10.15 to 10.19)

    def _enter(self, partition: Partition, new: Tuple) -> None:
        partition.tuples.append(new)
        partition.fed, partition.changed = self._now, True
        self._raise("INSERTION", partition, [new])

    def _tumble(self, partition: Partition) -> None:
        tuples, partition.tuples = partition.tuples, []
        self._raise("EVICTION", partition, tuples)

    def _evict(self, partition: Partition, leaving: list[Tuple]) -> None:
        partition.tuples, partition.changed = partition.tuples[len(leaving) :], True
        self._raise("EVICTION", partition, leaving)

    def _trigger(self, partition: Partition) -> None:
        if self._spec.only_when_full and not partition.full:
            return
        partition.changed = False
        self._raise("TRIGGER", partition, partition.tuples)

    def _full(self, partition: Partition) -> None:
        if not partition.full:
            partition.full = True
            self._raise("INITIAL_FULL", partition, partition.tuples)

    def _raise(self, event: str, partition: Partition, tuples: list[Tuple]) -> None:
        """Emits the pane of an event, or the rows that the listener returns for it (semantics 10.16, 10.19).

        Events that the option `events` does not name are skipped.
        """
        if event not in self._spec.emitted_events:
            return
        names = self._partitions.names(partition)
        for contents in self._contents(event, names, partition, list(tuples)):
            self._output["panes"].append({**names, "event": event, **contents, "processing_time": self._now})

    def _contents(
        self, event: str, names: dict[str, Any], partition: Partition, tuples: list[Tuple]
    ) -> list[dict[str, Any]]:
        spec = self._spec
        if spec.listener is not None:
            partition.listener = partition.listener or PartitionListener(spec.listener)
            return partition.listener.notify(
                event, names, [each.columns for each in tuples], self._now, self._evictions
            )
        if not spec.aggregates:
            return [{"tuples": [dict(each.columns) for each in tuples]}]
        rows = [each.values for each in tuples]
        return [
            {what.name: aggregate(what, rows, self._types.get(what.column or "")) for what in spec.aggregates}
        ]
