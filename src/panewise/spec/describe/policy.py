"""The text that describes policy windows."""

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
    Window: one for each sensor; it slides.
      A tuple goes when it has been inside for more than 1 minute.
      It triggers after every 10 tuples.
    Sent: INITIAL_FULL, INSERTION, TRIGGER, EVICTION, PARTITION_EVICTION and FINAL, each with its tuples.
    Invalid rows: none but those of a wrong type.
    Order: tuples are taken one by one, as they stand.
    State: a partition stays until the end of input.
    """
    return "\n".join([*_window(spec), *_sent(spec), _invalid(spec), _order(spec), _state(spec)])


def _many(n: int, what: str) -> str:
    return f"{n} {what}" if n != 1 else f"one {what.removesuffix('s')}"


def _window(spec: StreamWindow) -> list[str]:
    apart = f"one for each {listed(spec.partition_by)}" if spec.partition_by else "one"
    if spec.trigger is None:
        return [f"Window: {apart}; it tumbles.", f"  All tuples go {_tumbles(spec.evict)}."]
    slides = [f"Window: {apart}; it slides.", f"  {_slides(spec.evict)}."]
    return [*slides, f"  It triggers {_triggers(spec.trigger)}."] if "TRIGGER" in spec.told else slides


def _tumbles(policy: Policy) -> str:
    match policy:
        case CountPolicy(n=n):
            return f"when there are {n}"
        case TimePolicy(duration=duration):
            return f"when {duration} have passed since they did last, tuples or not"
        case DeltaPolicy(column=column, amount=amount):
            return f"before one whose {column} is more than {amount} above that of the oldest"
        case PunctPolicy(column=column):
            return f"when a row comes whose {column} is true, in every partition; that row is no tuple"


def _slides(policy: Policy) -> str:
    match policy:
        case CountPolicy(n=n):
            return f"The oldest tuple goes before another one comes when there are {n}"
        case TimePolicy(duration=duration):
            return f"A tuple goes when it has been inside for more than {duration}"
        case DeltaPolicy(column=column, amount=amount):
            return f"The oldest tuples go before one whose {column} is more than {amount} above theirs"
        case PunctPolicy():
            raise AssertionError("refused in sliding windows")


def _triggers(policy: Policy) -> str:
    match policy:
        case CountPolicy(n=n):
            return "after every tuple" if n == 1 else f"after every {n} tuples"
        case TimePolicy(duration=duration):
            return f"when {duration} have passed since it did last"
        case DeltaPolicy(column=column, amount=amount):
            return (
                f"before a tuple whose {column} is more than {amount} above that of the tuple before "
                "which it did last"
            )
        case PunctPolicy():
            raise AssertionError("refused in sliding windows")


def _sent(spec: StreamWindow) -> list[str]:
    if spec.listener is not None:
        outputs = listed(tuple(name for name, _ in spec.listener.outputs))
        lines = [f"Sent: what {spec.listener.name} makes of {listed(spec.told)}: {outputs}."]
    elif spec.aggregates:
        lines = [
            (
                f"Sent: {listed(spec.told)}, each with {listed(tuple(a.name for a in spec.aggregates))} of "
                "its tuples."
            )
        ]
    else:
        columns = "" if spec.columns is None else f", of which {listed(spec.columns)}"
        lines = [f"Sent: {listed(spec.told)}, each with its tuples{columns}."]
    if spec.only_when_full:
        lines.append("  No TRIGGER comes before the window was full once.")
    if spec.skip_unchanged:
        lines.append("  No TRIGGER comes of a window that has not changed since the last one.")
    if spec.flush_on_final:
        lines.append("  Tuples that are left at the end of input go by an EVICTION.")
    return lines


def _invalid(spec: StreamWindow) -> str:
    reasons = [f"{key} is null or NaN" for key in (() if spec.null_keys else spec.partition_by)]
    if spec.position is not None:
        reasons.append(f"{spec.position.partition} or {spec.position.offset} is null")
    compared = policy_columns(
        *(policy for policy in (spec.evict, spec.trigger) if isinstance(policy, DeltaPolicy))
    )
    reasons += [f"{name} is null or NaN" for name in compared]
    return f"Invalid rows: {listed(tuple(reasons), 'or') if reasons else 'none but those of a wrong type'}."


def _order(spec: StreamWindow) -> str:
    if spec.position is not None:
        return (
            "Order: tuples are taken one by one, in the order of "
            f"{listed(spec.position.columns)}{of_replays(spec.position)}."
        )
    return (
        "Order: tuples are taken one by one, "
        f"{f'in the order of {listed(spec.order)}' if spec.order else 'as they stand'}."
    )


def _state(spec: StreamWindow) -> str:
    if spec.partition_eviction is None:
        return f"State: {'a partition' if spec.partition_by else 'the window'} stays until the end of input."
    return f"State: {_partitions_go(spec.partition_eviction)}."


def _partitions_go(policy: PartitionEviction) -> str:
    if isinstance(policy, PartitionAge):
        return f"a partition goes when it has had no tuple for {policy.duration}"
    what = (
        _many(policy.n, "partitions")
        if isinstance(policy, PartitionCount)
        else f"{_many(policy.n, 'tuples')} in all partitions"
    )
    return f"the partitions that have waited longest for a tuple go while there are more than {what}"
