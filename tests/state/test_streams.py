"""Streams of frames contain what the rows use."""

import io

import polars as pl
import pytest

from panewise.spark import envelope
from panewise.state import blob
from panewise.state.streams import write_stream

LONG = 10_000
TEXTS = [[chr(97 + row % 26) * LONG, None, "short"] for row in range(100)]
NESTED = {
    "list": pl.Series(TEXTS),
    "list of structs": pl.Series([[{"text": text, "n": row}] for row, (text, *_) in enumerate(TEXTS)]),
    "struct": pl.Series([{"text": text, "other": None} for text, *_ in TEXTS]),
    "binary": pl.Series([[str(text).encode() for text in row] for row in TEXTS]),
    "strings": pl.Series([text for text, *_ in TEXTS]),
}


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("how", ["run", "copy", "envelope"])
def test_a_few_rows_of_many_are_stored_with_their_own_text(kind: str, how: str) -> None:
    """Polars wrote the text of all rows that the few were gathered from."""
    few = pl.DataFrame({"k": range(100), "value": NESTED[kind]})[[3, 50]]
    if how == "envelope":
        stored = envelope.encode(few)
        back = envelope.decode(stored)
    elif how == "run":
        stored = blob.encode(few)
        back = blob.decode(stored)
    else:
        stored = blob.stream_of(few, "uncompressed")
        back = blob.frame_of(stored)
    assert len(stored) < 4 * LONG
    assert back.equals(few)
    assert back.schema == few.schema


@pytest.mark.parametrize("kind", NESTED)
def test_the_stream_is_written_into_what_is_there(kind: str) -> None:
    into = io.BytesIO()
    into.write(b"head")
    write_stream(pl.DataFrame({"value": NESTED[kind]}), into)
    assert into.getvalue()[:4] == b"head"
    assert blob.frame_of(into.getvalue()[4:]).height == 100
