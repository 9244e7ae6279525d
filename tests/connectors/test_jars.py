"""Jars that cannot be fetched fail a test with the reason, and leave no files that a later run would use."""

import sys
from pathlib import Path

import pytest

from tests.connectors.jars import cache, jars


def test_what_cannot_be_fetched_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(
        AssertionError, match=r"org\.example:none:1 could not be fetched \| .* \| run them once with access"
    ):
        jars("org.example:none:1")
    assert not list(cache().rglob("*.txt"))


def test_what_is_deleted_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    listed = cache() / "org.example_none_1" / "jars.txt"
    listed.parent.mkdir(parents=True)
    listed.write_text(f"{tmp_path}/none.jar\n", encoding="utf-8")
    with pytest.raises(
        AssertionError, match=r"none\.jar'\] are missing \| .*jars\.txt names them \| delete "
    ):
        jars("org.example:none:1")
