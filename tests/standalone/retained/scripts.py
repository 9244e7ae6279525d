"""Random scripts for S1's window operators: settings, messages and readings of the clock."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

from panewise import Every
from panewise import functions as F
from panewise.spec import Aggregate
from panewise.standalone import (
    AggregatorSettings,
    JoinWindowOperator,
    JoinWindowSettings,
    WindowedAggregator,
    WindowOutput,
)
from panewise.testing.samples import TALLY

TYPES = {"event_time": "bigint", "v": "bigint", "k": "string"}
Step: TypeAlias = tuple[str, Any]  # ("add", message) or ("clock", reading)
LONG = 10**6

AGGREGATES: tuple[tuple[Aggregate, ...], ...] = (
    (F.sum("v").alias("a"), F.count().alias("n")),
    (F.median("v").alias("a"),),
    (F.max("v").alias("a"), F.avg("v").alias("m")),
    (F.collect_list("v").alias("a"),),
    (F.max_by("v", ["k", F.asc("v")]).alias("a"), F.last_n("v", 2).alias("n")),
    (F.collect_list("v", nulls="include").alias("a"), TALLY("k").alias("n")),
)
EARLY = (None, "each", 7, Every(6, aligned=True, offset=2))
LATE = ("each", 5, Every(6, aligned=True))


@st.composite
def settings(draw: st.DrawFn, *, join: bool = False, measures: Sequence[str] = ("time", "tuple")) -> Any:
    """Draws settings of an aggregator or of a join window operator."""
    sessions = draw(st.booleans())
    by_time = draw(st.sampled_from(measures)) == "time"
    size = draw(st.integers(1, 12 if by_time else 5))
    given = {
        "measure": "time" if by_time else "tuple",
        "size": size,
        "retention_size": draw(st.sampled_from([max(size, 8), LONG])),
        "retention_time": draw(st.sampled_from([0, 3, 20, LONG])),
        "early": draw(st.sampled_from(EARLY)),
        "late": draw(st.sampled_from(LATE)),
    }
    if sessions:
        given["session_key"] = "k"
    else:
        given["advance"] = draw(st.integers(1, size))
        given["full"] = "past_end" if by_time else draw(st.sampled_from(["past_end", "at_size"]))
        given["origin"] = draw(st.integers(0, 3)) if by_time else 0
    if not join:
        return AggregatorSettings(**given)
    keys = draw(st.sampled_from([(), ("v",)]))
    return JoinWindowSettings(
        **given,
        keyed_message_store=("k", *keys) if sessions else keys,
        time_range_join=bool(keys) and by_time and draw(st.booleans()),
        window_scale=draw(st.sampled_from(["small", "large"])),
    )


@st.composite
def steps(draw: st.DrawFn, most: int = 30) -> list[Step]:
    """Draws messages, in and out of order, and readings of the clock."""
    time, clock, made = draw(st.integers(-20, 20)), 0, list[Step]()
    for _ in range(draw(st.integers(1, most))):
        if draw(st.integers(0, 3)) == 0:
            clock += draw(st.integers(0, 8))
            made.append(("clock", clock))
            continue
        time += draw(st.integers(-2, 6))
        late = draw(st.sampled_from([0, 0, 0, 5, 15, 40]))
        message = {"event_time": time - late, "v": draw(st.integers(-3, 3)), "k": draw(st.sampled_from("ab"))}
        made.append(("add", message))
    return made


def made(chosen: AggregatorSettings, aggregates: Sequence[Aggregate], **options: Any) -> Any:
    """Returns an operator with these settings."""
    if isinstance(chosen, JoinWindowSettings):
        return JoinWindowOperator(chosen, TYPES, **options)
    return WindowedAggregator(chosen, aggregates, TYPES, **options)


def play(operator: Any, numbered: Sequence[tuple[int, Step]]) -> Iterator[list[WindowOutput]]:
    """Plays steps, whose offset is that of a message. Yields the outputs after each of them."""
    for offset, (what, given) in numbered:
        if what == "add":
            operator.add_message(given, offset)
        else:
            operator.timeout(given)
        yield operator.drain()


def with_offsets(script: Sequence[Step], gap: int = 1) -> list[tuple[int, Step]]:
    """Returns the steps, each with the offset of the next message."""
    numbered, offset = [], 0
    for step in script:
        numbered.append((offset, step))
        offset += gap if step[0] == "add" else 0
    return numbered


def shown(output: WindowOutput) -> tuple[Any, ...]:
    """Returns what a sink sees of an output."""
    window = output.window._replace(partial=b"")
    return output.sequence, output.firing, window, output.messages
