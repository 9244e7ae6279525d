"""Damaged manifests and runs: a reader raises a StateError or returns the sound content, and nothing else."""

import json
import random
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.checkpoints.figures import CheckpointFigures, OperatorFigures, ShardFigures
from panewise.checkpoints.shard import recorded_spec, shard_figures
from panewise.cli.state import as_json, as_text
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.saved_operator import restore, save
from panewise.errors import StateError
from panewise.state import Manifest, MemoryRunStore
from panewise.state.run_format import decode
from tests.engine.effort import examples
from tests.state.make_golden import CASES, SCHEMA, formats_of, read, rows

STATES = [(name, number) for name in sorted(CASES) for number in formats_of(name)]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**63 - 1,
    -(2**63),
    2**63,
    10**30,
    0.5,
    1e300,
    "",
    "1",
    "x",
    [],
    {},
    [0],
    {"x": 1},
]
Shard = dict[str, bytes]
LIMITS = examples(100)


def shard_of(name: str, number: int) -> Shard:
    """Returns the entries of a shard in Spark's state: its manifest and its runs."""
    store = read(name, number)
    return {"manifest": (store.manifest() or "").encode(), **{run: store.run(run) for run in store.names}}


def bytes_changed(draw: random.Random, data: bytes) -> bytes:
    """Returns the bytes with one change: a piece is replaced, removed or doubled, or the end is cut off."""
    at, length = draw.randrange(len(data) + 1), draw.choice([1, 1, 1, 2, 8, 100])
    piece = data[at : at + length]
    new = [
        bytes(draw.randrange(256) for _ in piece),
        b"",
        piece * 2,
        bytes(len(piece)),
        bytes([draw.randrange(256)]) + piece,
    ]
    return data[:at] if draw.random() < 0.1 else data[:at] + draw.choice(new) + data[at + length :]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the paths to all members of a JSON value, at any depth."""
    inside = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    for name, member in inside:
        yield (*path, name)
        yield from places(member, (*path, name))


def json_changed(text: bytes, path: tuple[Any, ...], change: Any) -> bytes:
    """Returns JSON text with another value at a path, or without that member if the value is `...`."""
    whole = json.loads(text)
    *above, last = path
    inner = whole
    for name in above:
        inner = inner[name]
    if change is ...:
        del inner[last]
    else:
        inner[last] = change
    return json.dumps(whole).encode()


def damaged(draw: random.Random, shard: Shard) -> Shard:
    """Returns the shard with its manifest or one of its runs damaged.

    The CRC-32 of a run that is cut short is made to match.
    """
    kind, run = draw.random(), draw.choice([name for name in shard if name != "manifest"])
    if kind < 0.5:
        path = draw.choice(list(places(json.loads(shard["manifest"]))))
        return shard | {"manifest": json_changed(shard["manifest"], path, draw.choice([..., *VALUES]))}
    if kind < 0.7:
        return shard | {"manifest": bytes_changed(draw, shard["manifest"])}
    if kind < 0.8:
        return shard | {run: shard[draw.choice([name for name in shard if name != "manifest"])]}
    changed = bytes_changed(draw, shard[run])
    if kind < 0.9 and len(changed) > 64:  # the end of the stream is cut off, and its CRC-32 matches
        changed = shard[run][: draw.randrange(64, len(shard[run]))]
        changed = changed[:6] + zlib.crc32(changed[64:]).to_bytes(4, "little") + changed[10:]
    return shard | {run: changed}


def inspected(shard: Shard) -> ShardFigures:
    """Returns the state of a shard, after all that `panewise state` does with its entries."""
    found = shard_figures(0, shard)
    manifest = Manifest.decode(shard["manifest"].decode(errors="replace"))
    state = CheckpointFigures(
        "here", 0, (OperatorFigures(0, recorded_spec(manifest), manifest.shards, (found,)),)
    )
    json.dumps(as_json(state))
    as_text(state)
    return found


def resumed(name: str, shard: Shard) -> None:
    """Runs one step of the query that has this state, and commits it."""
    store = MemoryRunStore()
    store.put_manifest(shard["manifest"].decode(errors="replace"))
    for run in shard:
        store.put_run(run, shard[run])
    case = CASES[name]
    stored = StoredOperator.load(case.spec, case.schemas, RunLibrary(store, Cache()))
    port = next(iter(stored.operator.plan.ports))
    stored.operator.add(rows(((15, "a", 1),), offset=100), port)
    stored.operator.finish()
    stored.commit()


def tried(name: str, number: int, shard: Shard) -> None:
    """Checks that a damaged shard is inspected and resumed without another error than a StateError.

    If it can be inspected, the result is that of the sound shard. Format 1 is an exception, as it has no
    checksum of the manifest.
    """
    sound = inspected(shard_of(name, number))
    try:
        found = inspected(shard)
        assert number == 1 or found == sound
    except StateError:
        pass
    with suppress(StateError):
        resumed(name, shard)


def campaign(seeds: range) -> None:
    """Checks one damaged state for each seed."""
    shards = {state: shard_of(*state) for state in STATES}
    for seed in seeds:
        draw = random.Random(seed)
        state = draw.choice(STATES)
        tried(*state, damaged(draw, shards[state]))


@pytest.mark.parametrize("part", range(4))
def test_damage_is_a_state_error_or_makes_no_difference(part: int) -> None:
    campaign(range(part * 75, part * 75 + 75))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_damage_at_length(part: int) -> None:
    campaign(range(10_000 + part * 500, 10_500 + part * 500))


@LIMITS
@given(data=st.data())
def test_any_value_in_any_place_of_a_manifest(data: st.DataObject) -> None:
    name, number = data.draw(st.sampled_from(STATES))
    shard = shard_of(name, number)
    path = data.draw(st.sampled_from(list(places(json.loads(shard["manifest"])))))
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5)
    )
    value = data.draw(
        st.just(...)
        | st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner))
    )
    tried(name, number, shard | {"manifest": json_changed(shard["manifest"], path, value)})


@LIMITS
@given(text=st.text() | st.binary().map(lambda data: data.decode(errors="replace")))
def test_any_text_is_a_manifest_or_a_state_error(text: str) -> None:
    with pytest.raises(StateError):
        Manifest.decode(text)


@LIMITS
@given(data=st.binary(max_size=200), head=st.booleans())
def test_any_bytes_are_a_run_or_a_state_error(data: bytes, head: bool) -> None:
    sound = b"PWRN\1\0" + zlib.crc32(data).to_bytes(4, "little") + bytes(54) + data
    with pytest.raises(StateError):
        decode(sound if head else data, "1-1")


@pytest.mark.parametrize("seed", range(60))
def test_a_saved_operator_that_is_damaged(seed: int) -> None:
    store = read("tumbling")
    operator = StoredOperator.load(CASES["tumbling"].spec, SCHEMA, RunLibrary(store, Cache())).operator
    data = bytes_changed(random.Random(seed), save(operator))
    with suppress(StateError):
        restore(CASES["tumbling"].spec, SCHEMA, data)
