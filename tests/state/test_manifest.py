"""The manifest: JSON, with a format, refused when it is not one."""

import pytest

from panewise.errors import StateError
from panewise.state import Manifest, MemoryRunStore, Run

MANIFEST = Manifest({"keys": ["k"]}, 8, 3, (Run("a", 10, 5, 60, 3, 15), Run("b", 2, -60, 0)), {"watermark": -5, "marks": [[0, 7]]})


def test_a_manifest_is_read_back() -> None:
    assert Manifest.decode(MANIFEST.encode()) == MANIFEST


def test_the_text_is_the_documented_json() -> None:
    assert MANIFEST.encode() == (
        '{"panewise_state":1,"spec":{"keys":["k"]},"shards":8,"version":3,'
        '"runs":[{"name":"a","rows":10,"low":5,"high":60,"waiting":3,"part":15},'
        '{"name":"b","rows":2,"low":-60,"high":0,"waiting":null,"part":null}],"header":{"watermark":-5,"marks":[[0,7]]}}'
    )


def test_the_next_version_counts_on() -> None:
    assert MANIFEST.following((), {}).version == 4


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"panewise_state":1}', '{"panewise_state":1,"runs":[{}]}'])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(StateError, match="a manifest is the JSON that panewise wrote"):
        Manifest.decode(text)


def test_another_format_is_refused_by_name() -> None:
    with pytest.raises(StateError, match=r"a manifest of format 2 \| this version of panewise reads format 1"):
        Manifest.decode('{"panewise_state":2}')


def test_the_store_in_memory_keeps_and_drops_runs() -> None:
    store = MemoryRunStore()
    assert store.manifest() is None
    store.put_manifest("{}")
    store.put_run("a", b"1")
    store.put_run("b", b"2")
    store.drop_run("a")
    assert (store.manifest(), store.run("b"), store.names) == ("{}", b"2", ["b"])
