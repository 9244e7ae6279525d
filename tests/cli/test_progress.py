"""The bar of commands that take long."""

import errno
import io
import os
import pty
import sys

import pytest

from panewise.cli import progress


def shown(after: float, monkeypatch: pytest.MonkeyPatch, *, at_once: bool = False) -> str:
    """Returns what a terminal shows of a command with two steps."""
    monkeypatch.setattr(progress, "AFTER_SECONDS", after)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress.progress_bar(at_once=at_once) as show:
            show("the first", 0.0)
            show("the second", 0.5)
    return _all_of(ours)


def _all_of(terminal: int) -> str:
    """Returns what was written to a terminal whose other end is closed, and closes it."""
    parts: list[bytes] = []
    try:
        while part := os.read(terminal, 1 << 16):
            parts.append(part)
    except OSError as error:  # Linux has no end of file here
        if error.errno != errno.EIO:
            raise
    finally:
        os.close(terminal)
    return b"".join(parts).decode()


def test_a_bar_appears_if_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(0, monkeypatch)
    assert "the first" in text
    assert "50%" in text
    assert "the second" in text
    assert text.endswith("\r\n")


def test_what_is_short_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(3600, monkeypatch) == ""


def test_what_is_known_to_be_long_shows_a_bar_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the first" in shown(3600, monkeypatch, at_once=True)


def test_there_is_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.progress_bar() as show:
        show("the first", 0.5)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
