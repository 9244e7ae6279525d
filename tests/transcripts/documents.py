"""The conformance transcripts, read once for all tests that play them.

They are read by the parser in C, which is many times faster. tests/testing/test_transcripts.py checks that
`transcripts.load` reads the same and finds them well formed.
"""

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
# yaml lacks this parser where libyaml was not at hand.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(path: Path) -> list[dict[str, Any]]:
    """Returns the transcripts of a file as they are written."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)


FILES: dict[Path, list[dict[str, Any]]] = {path: read(path) for path in sorted(FOLDER.glob("*.yaml"))}
DOCUMENTS = [(path.stem, document) for path, documents in FILES.items() for document in documents]
