"""The file of an exported state: complete or refused, and what it says of its origin."""

from pathlib import Path

import pyarrow as pa
import pytest

from panewise.errors import StateError
from panewise.state.export_file import ExportedFrom, ExportFile, is_export, origin_of, writing

ORIGIN = ExportedFrom("ab" * 16, "/checkpoint", 3, 5_000_000, ('{"logOffset":1}', None))


def written(path: Path) -> Path:
    with writing(path, ORIGIN) as writer:
        writer.add(0, 7, "manifest", b"{}")
        writer.add(0, 7, "1-1", b"run")
        writer.add(0, 2, "manifest", b"[]")
        writer.add(1, 0, "manifest", b"")
    return path


def test_entries_by_operator_and_shard(tmp_path: Path) -> None:
    """semantics 48.2"""
    export = ExportFile.open(written(tmp_path / "state"))
    assert export.origin == origin_of(export.path) == ORIGIN
    entries = {
        operator: {shard: dict(of) for shard, of in shards.items()}
        for operator, shards in export.operators.items()
    }
    assert entries == {
        0: {7: {"manifest": b"{}", "1-1": b"run"}, 2: {"manifest": b"[]"}},
        1: {0: {"manifest": b""}},
    }
    assert len(export.operators[0][7]) == 2
    assert is_export(export.path)
    assert not is_export(tmp_path)


def test_every_tool_that_reads_arrow_reads_the_entries(tmp_path: Path) -> None:
    with pa.OSFile(str(written(tmp_path / "state"))) as file:
        table = pa.ipc.open_stream(file).read_all()
    assert table.column("name").to_pylist() == ["manifest", "1-1", "manifest", "manifest", "end"]


def test_a_file_that_exists_is_replaced_on_request_only(tmp_path: Path) -> None:
    """semantics 48.1: and a write that fails leaves what there was."""
    path = written(tmp_path / "state")
    with (
        pytest.raises(StateError, match=r"exists \| an export makes a new file \| .*--force.*replace=True"),
        writing(path, ORIGIN),
    ):
        pass
    with pytest.raises(TypeError), writing(path, ORIGIN, replace=True) as writer:
        writer.add(0, 0, "manifest", None)  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["state"]
    assert 7 in ExportFile.open(path).operators[0]
    with writing(path, ORIGIN, replace=True):
        pass
    assert ExportFile.open(path).operators == {}


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with (
        pytest.raises(StateError, match=r"cannot write .*: No such file"),
        writing(tmp_path / "no/state", ORIGIN),
    ):
        pass


def test_a_damaged_file_is_refused_whatever_is_cut_off(tmp_path: Path) -> None:
    """semantics 48.3"""
    whole = written(tmp_path / "state").read_bytes()
    damaged = tmp_path / "damaged"
    for length in [*range(0, len(whole) - 16, 37), len(whole) - 200]:
        damaged.write_bytes(whole[:length])
        with pytest.raises(StateError, match="an exported state is"):
            ExportFile.open(damaged)
    at = whole.index(b"run")
    damaged.write_bytes(whole[:at] + b"nur" + whole[at + 3 :])
    with pytest.raises(StateError, match="its checksum does not match"):
        ExportFile.open(damaged)
    damaged.write_text("a text\n" * 100)
    with pytest.raises(StateError, match="an exported state is a file that panewise wrote"):
        ExportFile.open(damaged)
    with pytest.raises(StateError, match="an exported state is a file that panewise wrote"):
        origin_of(damaged)
    for read in (ExportFile.open, origin_of):
        with pytest.raises(StateError, match="cannot read"):
            read(tmp_path / "none")


def test_a_damaged_byte_is_found_or_means_nothing(tmp_path: Path) -> None:
    """semantics 48.3: also one that moves the end of a value outside of the file."""
    path = written(tmp_path / "state")
    whole, damaged = path.read_bytes(), tmp_path / "damaged"
    entries = [dict(of) for shards in ExportFile.open(path).operators.values() for of in shards.values()]
    for at in range(0, len(whole), 4):
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            export = ExportFile.open(damaged)
        except StateError:
            continue
        assert entries == [dict(of) for shards in export.operators.values() for of in shards.values()]


def test_a_format_that_is_not_known(tmp_path: Path) -> None:
    whole = written(tmp_path / "state").read_bytes()
    (tmp_path / "later").write_bytes(whole.replace(b'"format": 1', b'"format": 9'))
    with pytest.raises(StateError, match=r"an exported state of format 9 .* reads format 1"):
        ExportFile.open(tmp_path / "later")
