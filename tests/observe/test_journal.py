"""Tests of the journal: bounded, continued after a restart, and written by one observer."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from panewise.errors import SetupError
from panewise.observe.activity import Activity
from panewise.observe.entries import Ended, Started, from_document
from panewise.observe.journal import MEGABYTE, Journal, path_of, segments
from panewise.observe.journal_reader import JournalReader
from panewise.observe.micro_batch import BatchFigures, MicroBatch


def report(batch: int, text: str = "") -> MicroBatch:
    activity = Activity("windows", windows={(0, 60): (1, 0, 0, 0, 0, 1, 0)}, keys={text: 1} if text else {})
    figures = BatchFigures({"rows_in": 5}, late={"expired": 1}, state={"watermark": 7}, activity=activity)
    return MicroBatch("orders", batch, 5, 0.25, {"panewise": figures}, 1_000_000 * batch)


def test_entries_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A line for each start, micro-batch and end (semantics 15.16)."""
    entries = [Started("orders", "7f", 5), report(0), report(1), Ended("orders", "7f", 9, "no memory\nat 1")]
    journal = Journal(tmp_path / "out" / "journal")
    reader = JournalReader(tmp_path / "out" / "journal")
    for entry in entries[:2]:
        journal.add(entry)
    first = list(reader.new_entries())
    for entry in entries[2:]:
        journal.add(entry)
    journal.close()
    read = [*first, *reader.new_entries()]
    assert len(first) == 2
    assert read[0] == entries[0]
    assert [entry.batch for entry in read[1:3] if isinstance(entry, MicroBatch)] == [0, 1]
    assert read[3] == Ended("orders", "7f", 9, "no memory")
    figures = read[1].operators["panewise"]  # type: ignore[union-attr]
    assert (figures.counts, figures.late, figures.state) == ({"rows_in": 5}, {"expired": 1}, {"watermark": 7})
    assert figures.activity == Activity(
        "windows", windows={(0, 60): (1, 0, 0, 0, 0, 1, 0)}, stored={}, shards={}, keys={}
    )


def test_the_journal_is_bounded(tmp_path: Path) -> None:
    """The oldest entries are deleted when the limit is reached (semantics 15.17)."""
    journal, sizes = Journal(tmp_path, megabytes=1), []
    for batch in range(400):
        journal.add(report(batch, "k" * 5000))
        sizes.append(sum(path_of(tmp_path, number).stat().st_size for number in segments(tmp_path)))
    journal.close()
    assert max(sizes) <= MEGABYTE
    assert len(segments(tmp_path)) == 4
    assert segments(tmp_path)[0] > 1
    batches = [
        entry.batch for entry in JournalReader(tmp_path).new_entries() if isinstance(entry, MicroBatch)
    ]
    assert batches == list(range(batches[0], 400))


def test_a_lower_limit_after_a_restart(tmp_path: Path) -> None:
    """The limit is that of the last observer (semantics 15.17)."""
    journal = Journal(tmp_path, megabytes=8)
    for batch in range(400):
        journal.add(report(batch, "k" * 5000))
    journal.close()
    journal = Journal(tmp_path, megabytes=1)
    journal.add(report(400))
    journal.close()
    assert sum(path_of(tmp_path, number).stat().st_size for number in segments(tmp_path)) <= MEGABYTE
    assert [*JournalReader(tmp_path).new_entries()][-1].batch == 400  # type: ignore[union-attr]


def test_an_entry_that_is_too_long_has_no_activity(tmp_path: Path) -> None:
    """Its counts are written (semantics 15.17)."""
    journal = Journal(tmp_path, megabytes=1)
    journal.add(report(0, "k" * MEGABYTE))
    journal.close()
    (entry,) = JournalReader(tmp_path).new_entries()
    assert isinstance(entry, MicroBatch)
    assert entry.operators["panewise"].activity is None
    assert entry.operators["panewise"].counts == {"rows_in": 5}


def test_a_line_without_its_end(tmp_path: Path) -> None:
    """A killed process leaves such a line. It is skipped, and the journal is continued (semantics 15.17)."""
    journal = Journal(tmp_path)
    journal.add(report(0))
    journal.close()
    with path_of(tmp_path, 1).open("ab") as file:
        file.write(b'{"kind": "bat')
    reader = JournalReader(tmp_path)
    assert len(list(reader.new_entries())) == 1
    journal = Journal(tmp_path)
    journal.add(report(1))
    journal.close()
    assert [entry.batch for entry in reader.new_entries()] == [1]  # type: ignore[union-attr]
    assert reader.skipped == 1


def test_what_is_no_entry_is_skipped(tmp_path: Path) -> None:
    """Lines of a later release, or of nobody, are not shown (semantics 15.17)."""
    lines = ['{"kind": "later", "x": 1}', "[]", '{"kind": "batch"}', '{"query": "a"}', '"text"', "{}"]
    path_of(tmp_path, 1).write_text("\n".join([*lines, json.dumps({"kind": "started"}), ""]))
    reader = JournalReader(tmp_path)
    assert list(reader.new_entries()) == []
    assert reader.skipped == len(lines)
    assert from_document({"kind": "later", "x": 1}) is None


def test_a_reader_whose_segment_was_deleted(tmp_path: Path) -> None:
    """It continues with the oldest entry that is left (semantics 15.17)."""
    journal, reader = Journal(tmp_path, megabytes=1), JournalReader(tmp_path)
    journal.add(report(0))
    assert len(list(reader.new_entries())) == 1
    for batch in range(1, 400):
        journal.add(report(batch, "k" * 5000))
    journal.close()
    batches = [entry.batch for entry in reader.new_entries() if isinstance(entry, MicroBatch)]
    assert batches == list(range(batches[0], 400))
    assert batches[0] > 1


def test_one_observer_writes(tmp_path: Path) -> None:
    """Another one would mix its lines and segments with these (semantics 15.17)."""
    journal = Journal(tmp_path)
    with pytest.raises(
        SetupError, match=r"of another observer \| one observer writes .* \| give each its own"
    ):
        Journal(tmp_path)
    journal.close()
    Journal(tmp_path).close()


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    """The next observer continues the journal (semantics 15.17)."""
    code = (
        "import os, signal, sys; from panewise.observe.journal import Journal; "
        "journal = Journal(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    Journal(tmp_path).close()


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could be written in part is ended by the next line (semantics 15.17)."""
    journal = Journal(tmp_path)

    class Full:
        def write(self, line: bytes) -> int:
            return os.write(descriptor, line[:9])

    file = journal._file
    descriptor = file.fileno()
    monkeypatch.setattr(journal, "_file", Full())
    with pytest.raises(OSError, match=r"9 of .* bytes were written"):
        journal.add(report(0))
    monkeypatch.setattr(journal, "_file", file)
    journal.add(report(1))
    journal.close()
    reader = JournalReader(tmp_path)
    assert [entry.batch for entry in reader.new_entries()] == [1]  # type: ignore[union-attr]
    assert reader.skipped == 1


@pytest.mark.parametrize("megabytes", [0, -1])
def test_limits(tmp_path: Path, megabytes: int) -> None:
    with pytest.raises(SetupError, match=rf"journal_mb={megabytes} \| .* one megabyte or more \| give 16"):
        Journal(tmp_path, megabytes=megabytes)


def test_a_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        SetupError, match=r"journal=.* \| a journal is a directory .* \| give another directory"
    ):
        Journal(tmp_path / "file")


def test_there_is_no_journal_yet(tmp_path: Path) -> None:
    """A reader may begin before the journal does (semantics 15.20)."""
    reader = JournalReader(tmp_path / "journal")
    assert not reader.exists
    assert list(reader.new_entries()) == []
    journal = Journal(tmp_path / "journal")
    journal.add(report(0))
    assert reader.exists
    assert len(list(reader.new_entries())) == 1
    journal.close()
