"""Which paths are inside others (semantics 49.56)."""

import re

import pytest

from panewise.errors import SpecError
from panewise.paths import check_apart, check_unread, is_read_by, without_wildcards

RULE = "a reader of a directory also reads the directories in it"
LOOPS = "a query does not write where it reads"


@pytest.mark.parametrize(
    ("written", "sources", "message"),
    [
        (
            {"panes": "/out", "late": "/out/late"},
            [],
            f"late at '/out/late', inside panes at '/out' | {RULE}",
        ),
        (
            {"late": "/out/late", "panes": "/out"},
            [],
            f"late at '/out/late', inside panes at '/out' | {RULE}",
        ),
        ({"panes": "/out", "checkpoint": "file:/out/x/"}, [], "checkpoint at 'file:/out/x/', inside panes"),
        ({"panes": "/ck/panes", "checkpoint": "/ck"}, [], "panes at '/ck/panes', inside checkpoint at '/ck'"),
        ({"panes": "/out", "checkpoint": "/out"}, [], "inside"),
        ({"panes": "s3a://b/out", "late": "S3A://b//out/x"}, [], "late at 'S3A://b//out/x', inside panes"),
        ({"panes": "/in"}, ["/in"], f"panes at '/in' and a source that reads '/in' | {LOOPS}"),
        ({"panes": "/in/out"}, ["file:///in"], "panes at '/in/out' and a source that reads 'file:///in' | "),
        ({"panes": "/data"}, ["/data/in"], f"panes at '/data' and a source that reads '/data/in' | {LOOPS}"),
        ({"checkpoint": "/in/a/ck"}, ["/in/*/"], "checkpoint at '/in/a/ck' and a source that reads"),
        ({"panes": "/in/a"}, ["/in/{a,b}"], LOOPS),
        ({"panes": "/in/b1/x"}, ["/in/[!a]?"], LOOPS),
        ({"panes": "/in"}, ["/in/*.json"], LOOPS),
    ],
)
def test_paths_inside_others(written: dict[str, str], sources: list[str], message: str) -> None:
    """semantics 49.56"""
    with pytest.raises(SpecError, match=re.escape(message)):
        check_apart(written, sources)


@pytest.mark.parametrize(
    ("written", "sources"),
    [
        ({"panes": "/out/panes", "late": "/out/late", "checkpoint": "/out/checkpoint"}, ["/out/in"]),
        ({"panes": "/out", "checkpoint": "/out/_checkpoint"}, []),
        ({"panes": "/out", "late": "/out/.late/x"}, []),
        ({"panes": "/output", "late": "/out"}, ["/outp"]),
        ({"panes": "s3a://a/out", "late": "s3a://b/out/x"}, ["/out"]),
        ({"panes": "/in/out"}, ["/in/*.json"]),
        ({"panes": "/in/c"}, ["/in/{a,b}"]),
        ({"panes": "/in/_out"}, ["/in"]),
    ],
)
def test_paths_beside_others(written: dict[str, str], sources: list[str]) -> None:
    """semantics 49.56"""
    check_apart(written, sources)


@pytest.mark.parametrize("path", ["/lake/t[1]", "file:/lake//t[1]/", "/lake/t[1]/out", "/lake", "/"])
def test_directories_that_sources_read(path: str) -> None:
    """semantics 49.60: a directory has no wildcards."""
    message = f"panes at {path!r} and a source that reads '/lake/t[1]' | {LOOPS}"
    with pytest.raises(SpecError, match=re.escape(message)):
        check_unread({"panes": path}, directories=["/lake/t[1]", "/other"])


def test_directories_beside_those_that_sources_read() -> None:
    """semantics 49.60"""
    beside = {"panes": "/lake/t1", "late": "/lake/t[1]2", "checkpoint": "/lake/t[1]/_checkpoint"}
    check_unread(beside, directories=["/lake/t[1]"])


def test_wildcards() -> None:
    assert without_wildcards("/a/b*/c") == "/a" == without_wildcards("/a/*.json")
    assert (without_wildcards("/a/b/"), without_wildcards("/*")) == ("/a/b", "/")
    assert is_read_by("/a/b.c/d", "/a/b.?")
    assert not is_read_by("/a/bxc/d", "/a/b.c*")
