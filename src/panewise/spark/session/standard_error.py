"""Redirects what Spark writes to the standard error of this process."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def log_to(path: Path) -> Iterator[TextIO]:
    """Redirects the standard error of this process to a file in the block; yields what it was before.

    A JVM and workers that are started meanwhile inherit the file.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        with os.fdopen(os.dup(saved), "w", encoding=sys.stderr.encoding, errors="backslashreplace") as stream:
            yield stream
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)
