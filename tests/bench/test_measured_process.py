"""What a benchmark measures of a process that it starts."""

import subprocess
import tempfile

import pytest

from bench.measured_process import measured


def test_the_memory_of_this_process_is_not_that_of_the_command() -> None:
    large = b"x" * (300 << 20)
    taken = measured(["-c", "pass"])
    assert 0 < taken.resident_mb < len(large) >> 21
    assert taken.seconds > 0


def test_the_output_of_the_command() -> None:
    with tempfile.TemporaryFile() as printed:
        measured(["-c", "print('done')"], printed)
        printed.seek(0)
        assert printed.read() == b"done\n"
    with pytest.raises(subprocess.CalledProcessError):
        measured(["-c", "raise SystemExit(3)"])
