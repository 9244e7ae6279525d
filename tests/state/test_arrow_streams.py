"""Arrow IPC streams of frames contain only the text of their own rows, and can be read again."""

import gc
import io
import mmap
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.spark.shuffle import envelope
from panewise.state import arrow_streams, run_format
from panewise.state.arrow_streams import frame_of_table, own_text, table_of, write_stream
from tests.engine.effort import examples

LONG = 10_000
TEXTS = [[chr(97 + row % 26) * LONG, None, "short"] for row in range(100)]
NESTED = {
    "list": pl.Series(TEXTS),
    "list of structs": pl.Series([[{"text": text, "n": row}] for row, (text, *_) in enumerate(TEXTS)]),
    "struct": pl.Series([{"text": text, "other": None} for text, *_ in TEXTS]),
    "binary": pl.Series([[str(text).encode() for text in row] for row in TEXTS]),
    "strings": pl.Series([text for text, *_ in TEXTS]),
}

TYPES: dict[str, pl.DataType] = {
    "texts": pl.List(pl.String()),
    "structs": pl.List(pl.Struct({"by": pl.String(), "value": pl.Float64(), "flag": pl.Boolean()})),
    "lists": pl.List(pl.Struct({"text": pl.Binary(), "parts": pl.List(pl.String())})),
    "struct": pl.Struct({"text": pl.String(), "parts": pl.List(pl.List(pl.String()))}),
}
TEXT = st.sampled_from([None, "", "short", "longer than twelve bytes"])


def few(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Returns a strategy for lists that are mostly empty."""
    return st.sampled_from([0, 0, 0, 1, 2]).flatmap(
        lambda count: st.lists(values, min_size=count, max_size=count)
    )


NUMBERS = st.sampled_from([None, 1.5])
FLAGS = st.sampled_from([None, True])
ROWS = st.fixed_dictionaries(
    {
        "texts": st.none() | few(TEXT),
        "structs": few(st.fixed_dictionaries({"by": TEXT, "value": NUMBERS, "flag": FLAGS})),
        "lists": few(
            st.none()
            | st.fixed_dictionaries(
                {"text": TEXT.map(lambda text: text and text.encode()), "parts": few(TEXT)}
            )
        ),
        "struct": st.none() | st.fixed_dictionaries({"text": TEXT, "parts": few(few(TEXT))}),
    }
)


@st.composite
def cut_frames(draw: st.DrawFn) -> pl.DataFrame:
    """Returns a frame cut from another one, so that its lists may begin anywhere in that one's memory."""
    rows = draw(st.lists(ROWS, max_size=5))
    frame = pl.DataFrame(
        {name: pl.Series([row[name] for row in rows], dtype=dtype) for name, dtype in TYPES.items()}
    )
    for how in draw(
        st.lists(st.sampled_from(["slice", "filter", "gather", "twice"]), min_size=1, max_size=3)
    ):
        if how == "slice":
            first = draw(st.integers(0, frame.height))
            frame = frame.slice(first, draw(st.integers(0, frame.height - first)))
        elif how == "filter":
            frame = frame.filter(
                pl.Series(
                    draw(st.lists(st.booleans(), min_size=frame.height, max_size=frame.height)),
                    dtype=pl.Boolean,
                )
            )
        elif how == "gather" and frame.height:
            frame = frame[
                np.array(draw(st.lists(st.integers(0, frame.height - 1), max_size=4)), dtype=np.intp)
            ]
        else:
            frame = pl.concat([frame, frame])
    return frame


@pytest.mark.parametrize("compression", ["lz4", "uncompressed"])
@pytest.mark.parametrize("long", [0, 1 << 22], ids=["sharing text", "with a copy of the text"])
@examples(300)
@given(frame=cut_frames())
def test_what_is_cut_out_of_nested_columns_is_read_again(
    long: int, compression: arrow_streams.Compression, frame: pl.DataFrame
) -> None:
    """Empty lists of a slice made Arrow write streams that could not be read, or ended the reader."""
    into = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_streams, "_LONG", long)
        write_stream(frame, into, compression)
    back = frame_of_table(table_of(into.getvalue()))
    assert back.schema == frame.schema
    assert back.equals(frame)


@pytest.mark.parametrize("compression", ["lz4", "uncompressed"])
def test_an_empty_list_gathered_from_two_pieces_is_read_again(compression: arrow_streams.Compression) -> None:
    """The smallest frame whose stream could not be read again."""
    one = pl.DataFrame(
        {"structs": [[{"by": "a", "value": 1.0, "flag": True}], []]}, schema={"structs": TYPES["structs"]}
    )
    frame = pl.concat([one, one])[[3]]
    into = io.BytesIO()
    write_stream(frame, into, compression)
    assert frame_of_table(table_of(into.getvalue())).equals(frame)


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("how", ["run", "copy", "envelope"])
def test_a_few_rows_of_many_are_stored_with_their_own_text(kind: str, how: str) -> None:
    """Polars itself would also write the text of the other rows of the original frame."""
    few = pl.DataFrame({"k": range(100), "value": NESTED[kind]})[[3, 50]]
    if how == "envelope":
        stored = envelope.encode(few)
        back = envelope.decode(stored)
    elif how == "run":
        stored = run_format.encode(few)
        back = run_format.decode(stored)
    else:
        stored = run_format.stream_of(few, "uncompressed")
        back = run_format.frame_of(stored)
    assert len(stored) < 4 * LONG
    assert back.equals(few)
    assert back.schema == few.schema


@pytest.mark.parametrize("kind", NESTED)
def test_the_stream_is_written_into_what_is_there(kind: str) -> None:
    into = io.BytesIO()
    into.write(b"head")
    write_stream(pl.DataFrame({"value": NESTED[kind]}), into)
    assert into.getvalue()[:4] == b"head"
    assert run_format.frame_of(into.getvalue()[4:]).height == 100


@pytest.mark.parametrize("kind", NESTED)
def test_own_text_is_what_polars_would_write_as_plain_types(kind: str) -> None:
    frame = pl.DataFrame({"k": range(100), "value": NESTED[kind]})
    table = own_text(frame)
    if kind == "strings":
        assert table is None
        return
    assert table is not None
    assert table.equals(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    assert frame_of_table(table).equals(frame)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="mapped files are listed in /proc")
def test_own_text_does_not_keep_the_memory_of_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(run_format.stream_of(pl.DataFrame({"value": NESTED["list"]}), "uncompressed"))
    with path.open("rb") as file:
        frame = frame_of_table(table_of(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))))
    table = own_text(frame)
    assert str(path) in Path("/proc/self/maps").read_text()
    del frame
    gc.collect()
    assert str(path) not in Path("/proc/self/maps").read_text()
    assert isinstance(table, pa.Table)
    assert table.num_rows == 100


def test_a_run_is_the_same_through_a_file_and_without_one(tmp_path: Path) -> None:
    table = own_text(pl.DataFrame({"value": NESTED["list"]}))
    assert table is not None
    plain = run_format.encode(table, "1-1")
    with (tmp_path / "spool").open("w+b") as spool:
        assert run_format.encode(table, "1-1", spool) == plain
    assert run_format.decode(plain, "1-1")["value"].to_list() == TEXTS


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device on which there is never room")
def test_a_run_is_encoded_in_memory_if_the_disk_is_full() -> None:
    table = own_text(pl.DataFrame({"value": NESTED["list"]}))
    assert table is not None
    with Path("/dev/full").open("r+b", buffering=0) as full:
        assert run_format.encode(table, "1-1", full) == run_format.encode(table, "1-1")
