"""Describes policy windows in words."""

from panewise.spec.describe.inputs import of_replays
from panewise.spec.describe.listing import listed
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.operators.policy.policies import (
    CountPolicy,
    DeltaPolicy,
    PartitionAge,
    PartitionCount,
    PartitionEviction,
    Policy,
    PunctPolicy,
    TimePolicy,
    policy_columns,
)


def describe(spec: StreamWindow) -> str:
    """Returns a description of policy windows: evictions, triggers, output, invalid rows, order and state.

    >>> from panewise.streamwindow import StreamWindow, count, time
    >>> print(describe(StreamWindow.sliding(time("1 minute"), count(10), partition_by=["sensor"])))
    Window: one sliding window for each sensor.
      A tuple is evicted when it has been in the window for more than 1 minute.
      TRIGGER is raised after every 10 tuples.
    Output: INITIAL_FULL, INSERTION, TRIGGER, EVICTION, PARTITION_EVICTION and FINAL, each with its tuples.
    Invalid rows: only rows with a value of the wrong type.
    Order: tuples are taken one by one, as they stand in the batch.
    State: a partition is stored until the end of input.
    """
    return "\n".join([*_window(spec), *_output(spec), _invalid(spec), _order(spec), _state(spec)])


def _many(n: int, what: str) -> str:
    return f"{n} {what}" if n != 1 else f"one {what.removesuffix('s')}"


def _window(spec: StreamWindow) -> list[str]:
    apart = f" for each {listed(spec.partition_by)}" if spec.partition_by else ""
    if spec.trigger is None:
        return [f"Window: one tumbling window{apart}.", f"  All tuples are evicted {_tumbles(spec.evict)}."]
    slides = [f"Window: one sliding window{apart}.", f"  {_slides(spec.evict)}."]
    return (
        [*slides, f"  TRIGGER is raised {_triggers(spec.trigger)}."]
        if "TRIGGER" in spec.emitted_events
        else slides
    )


def _tumbles(policy: Policy) -> str:
    match policy:
        case CountPolicy(n=n):
            return f"when the window contains {_many(n, 'tuples')}"
        case TimePolicy(duration=duration):
            return (
                f"when processing time has advanced by {duration} since the last time, even if there are none"
            )
        case DeltaPolicy(column=column, amount=amount):
            return f"before a tuple is inserted whose {column} is more than {amount} above that of the oldest"
        case PunctPolicy(column=column):
            return f"in every partition when a row arrives whose {column} is true; that row is not a tuple"


def _slides(policy: Policy) -> str:
    match policy:
        case CountPolicy(n=n):
            full = f"If the window contains {_many(n, 'tuples')}"
            return f"{full}, the oldest is evicted before another is inserted"
        case TimePolicy(duration=duration):
            return f"A tuple is evicted when it has been in the window for more than {duration}"
        case DeltaPolicy(column=column, amount=amount):
            return (
                f"The oldest tuples are evicted before a tuple is inserted whose {column} is more than "
                f"{amount} above theirs"
            )
        case PunctPolicy():
            raise AssertionError("refused in sliding windows")


def _triggers(policy: Policy) -> str:
    match policy:
        case CountPolicy(n=n):
            return "after every tuple" if n == 1 else f"after every {n} tuples"
        case TimePolicy(duration=duration):
            return f"when processing time has advanced by {duration} since the last time"
        case DeltaPolicy(column=column, amount=amount):
            return (
                f"before a tuple is inserted whose {column} is more than {amount} above that of the tuple "
                "at the last TRIGGER"
            )
        case PunctPolicy():
            raise AssertionError("refused in sliding windows")


def _output(spec: StreamWindow) -> list[str]:
    events = listed(spec.emitted_events)
    if spec.listener is not None:
        outputs = listed(tuple(name for name, _ in spec.listener.outputs))
        lines = [f"Output: the rows that {spec.listener.name} returns for {events}, with {outputs}."]
    elif spec.aggregates:
        columns = listed(tuple(a.name for a in spec.aggregates))
        lines = [f"Output: {events}, each with {columns} of its tuples."]
    else:
        columns = "" if spec.columns is None else f"{listed(spec.columns)} of "
        lines = [f"Output: {events}, each with {columns}its tuples."]
    if spec.only_when_full:
        lines.append("  TRIGGER is not raised before the window has been full once.")
    if spec.skip_unchanged:
        lines.append("  TRIGGER is not raised if the window has not changed since the last TRIGGER.")
    if spec.flush_on_final:
        lines.append("  Tuples that remain at the end of input raise an EVICTION.")
    return lines


def _invalid(spec: StreamWindow) -> str:
    reasons = [f"{key} is null or NaN" for key in (() if spec.null_keys else spec.partition_by)]
    if spec.position is not None:
        reasons.append(f"{spec.position.partition} or {spec.position.offset} is null")
    compared = policy_columns(
        *(policy for policy in (spec.evict, spec.trigger) if isinstance(policy, DeltaPolicy))
    )
    reasons += [f"{name} is null or NaN" for name in compared]
    mistyped = "only rows with a value of the wrong type"
    return f"Invalid rows: {listed(tuple(reasons), 'or') if reasons else mistyped}."


def _order(spec: StreamWindow) -> str:
    if spec.position is not None:
        return (
            "Order: tuples are taken one by one, in the order of "
            f"{listed(spec.position.columns)}{of_replays(spec.position)}."
        )
    return (
        "Order: tuples are taken one by one, "
        f"{f'in the order of {listed(spec.order)}' if spec.order else 'as they stand in the batch'}."
    )


def _state(spec: StreamWindow) -> str:
    if spec.partition_eviction is None:
        return (
            f"State: {'a partition' if spec.partition_by else 'the window'} is stored until the end of input."
        )
    return f"State: {_partition_eviction(spec.partition_eviction)}."


def _partition_eviction(policy: PartitionEviction) -> str:
    if isinstance(policy, PartitionAge):
        return f"a partition is evicted when no tuple has been inserted into it for {policy.duration}"
    what = (
        _many(policy.n, "partitions")
        if isinstance(policy, PartitionCount)
        else f"{_many(policy.n, 'tuples')} in all partitions"
    )
    return f"while there are more than {what}, the partition whose last insertion is oldest is evicted"
