"""Manifests: their JSON and its formats, and the texts that are refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from panewise.errors import StateError
from panewise.state import Manifest, MemoryRunStore, Run
from panewise.state.manifest import checked

MANIFEST = Manifest(
    {"keys": ["k"]},
    8,
    3,
    (Run("1-1", 10, 5, 60, 3, 15), Run("2-1", 2, -60, 0, checksum="0" * 32)),
    {"watermark": -5, "marks": [[0, 7]]},
)


def test_a_manifest_is_read_back() -> None:
    assert Manifest.decode(MANIFEST.encode()) == MANIFEST


def test_the_text_is_the_documented_json() -> None:
    assert MANIFEST.encode() == (
        '{"panewise_state":2,"checksum":"47d7677f2033142097ded17a41c7f292","spec":{"keys":["k"]},"shards":8,"version":3,'
        '"runs":[{"name":"1-1","rows":10,"low":5,"high":60,"waiting":3,"part":15},'
        '{"name":"2-1","rows":2,"low":-60,"high":0,"waiting":null,"part":null,"checksum":"00000000000000000000000000000000"}],'
        '"header":{"watermark":-5,"marks":[[0,7]]}}'
    )


def test_the_next_version_counts_on() -> None:
    assert MANIFEST.following((), {}).version == 4


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"panewise_state":1}', '{"panewise_state":1,"runs":[{}]}', "[" * 100_000]
)
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(StateError, match="a manifest is the JSON that panewise wrote"):
        Manifest.decode(text)


def test_another_format_is_refused_by_name() -> None:
    with pytest.raises(
        StateError, match=r"a manifest of format 3 \| this version of panewise reads formats 1 to 2"
    ):
        Manifest.decode('{"panewise_state":3}')


def test_a_changed_manifest_is_refused() -> None:
    with pytest.raises(
        StateError,
        match=r"a manifest whose checksum does not match \| manifests never change \| restore",
    ):
        Manifest.decode(MANIFEST.encode().replace('"rows":10', '"rows":11'))


def test_white_space_does_not_matter_to_the_checksum() -> None:
    assert Manifest.decode(json.dumps(json.loads(MANIFEST.encode()), indent=2)) == MANIFEST


def test_a_manifest_of_format_1_has_no_checksums() -> None:
    fields = json.loads(MANIFEST.encode())
    del fields["checksum"], fields["runs"][1]["checksum"]
    old = Manifest.decode(json.dumps(fields | {"panewise_state": 1}))
    assert old == replace(MANIFEST, runs=tuple(replace(run, checksum=None) for run in MANIFEST.runs))


FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"shards": 0}, "a manifest with shards='0'"),
    ({"version": True}, "a manifest with version='True'"),
    ({"header": []}, r"a manifest with header='\[\]'"),
    ({"more": 1}, "a manifest with more='1'"),
    ({"runs": [3]}, "a run of a manifest that is '3'"),
    ({"runs": [{"name": "1-1", "rows": 1, "low": 0, "high": 0}] * 2}, "a manifest with two runs '1-1'"),
    ({"runs": [{"name": "1-1", "rows": 1, "low": 0}]}, "a run of a manifest without 'high'"),
    ({"runs": [{"name": "x", "rows": 1, "low": 0, "high": 0}]}, "a run of a manifest with name='x'"),
    (
        {"runs": [{"name": "1-1", "rows": 1, "low": 2**63, "high": 0}]},
        "a run of a manifest with low='9223372036854775808'",
    ),
    (
        {"runs": [{"name": "1-1", "rows": 1, "low": 0, "high": 0, "part": 16}]},
        "a run of a manifest with part='16'",
    ),
]


@pytest.mark.parametrize(("changed", "given"), FIELDS)
def test_a_field_with_a_value_that_it_cannot_have_is_refused(changed: dict[str, Any], given: str) -> None:
    fields = json.loads(MANIFEST.encode())
    del fields["checksum"]
    with pytest.raises(
        StateError, match=given + r" \| a manifest is the JSON that panewise wrote \| restore the checkpoint"
    ):
        Manifest.decode(json.dumps({**fields, "panewise_state": 1, **changed}))


HEADER: dict[str, Any] = {"processing_time": 1, "watermark": None, "finished": False, "marks": []}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"marks": [[None, "x", 1, True]]},
        {"types": {"k": "bigint"}},
        {"inputs": {"since": 0, "told": {"a": [None, 3]}}},
    ],
)
def test_a_header_is_read_back(more: dict[str, Any]) -> None:
    assert checked(HEADER | more) == HEADER | more


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("processing_time", None),
        ("watermark", 2**63),
        ("finished", 1),
        ("marks", "x"),
        ("marks", ["x"]),
        ("marks", [[1.5]]),
        ("types", ["k"]),
        ("types", {"k": 1}),
        ("inputs", {"since": 0}),
        ("inputs", {"since": 1.5, "told": {}}),
        ("inputs", {"since": 0, "told": []}),
        ("inputs", {"since": 0, "told": {"a": "ab"}}),
        ("inputs", {"since": 0, "told": {"a": [1]}}),
        ("inputs", {"since": 0, "told": {"a": [1, "x"]}}),
        ("timer", 1.5),
    ],
)
def test_a_field_of_a_header_that_it_cannot_have_is_refused(name: str, value: Any) -> None:
    with pytest.raises(StateError, match=f"^a header with {name}="):
        checked(HEADER | {name: value})


def test_the_store_in_memory_keeps_and_drops_runs() -> None:
    store = MemoryRunStore()
    assert store.manifest() is None
    store.put_manifest("{}")
    store.put_run("a", b"1")
    store.put_run("b", b"2")
    store.drop_run("a")
    assert (store.manifest(), store.run("b"), store.names) == ("{}", b"2", ["b"])
