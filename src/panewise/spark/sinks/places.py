"""The places that the outputs of a query are written to: no two have one place (semantics 49.40, 49.50)."""

from collections.abc import Mapping

from panewise.errors import SpecError
from panewise.paths import place
from panewise.spark.sinks.base import AnySink, BoundSink, PathSink


def check_place(by_place: dict[str, str], name: str, where: str, shown: str) -> None:
    """Adds the place of an output.

    Raises:
        SpecError: if another output has it.
    """
    other = by_place.setdefault(where, name)
    if other != name:
        rule = "two outputs of a query have one place, and would overwrite or mix their rows"
        raise SpecError(f"{other} and {name} with the {shown}", rule, "give each a place of its own")


def check_tables(sinks: Mapping[str, AnySink]) -> None:
    """Checks that no two outputs have one table under two names, once their tables exist.

    Raises:
        SpecError: if two have.
    """
    tables = [sink for sink in sinks.values() if isinstance(sink, BoundSink) and sink.sink.place is not None]
    paths = {name: sink for name, sink in sinks.items() if isinstance(sink, PathSink)}
    if not tables or len(tables) + len(paths) < 2:
        return
    by_place = {place(sink.path): name for name, sink in paths.items()}
    for table in tables:
        where = table.sink.located(table.output)
        if where is not None:
            check_place(by_place, table.output.name, where, f"sink {table.sink!r}")


def file_places(sinks: Mapping[str, AnySink]) -> list[str]:
    """Returns the places of the outputs that are files, in order."""
    return sorted(place(sink.path) for sink in sinks.values() if isinstance(sink, PathSink))


def directories(sinks: Mapping[str, AnySink], names: Mapping[str, str]) -> dict[str, str]:
    """Returns the directories of outputs by their names in `write`, which `names` has by the keys of `sinks`.

    Tables with a name and functions have none.
    """
    paths = {names[kind]: _directory(sink) for kind, sink in sinks.items()}
    return {name: path for name, path in paths.items() if path is not None}


def named_directories(sinks: Mapping[str, AnySink]) -> dict[str, str]:
    """Returns the directories of tables with a name, as far as they exist, by the names of the outputs."""
    tables = [sink for sink in sinks.values() if isinstance(sink, BoundSink) and sink.sink.directory is None]
    paths = {table.output.name: table.sink.named_directory(table.output) for table in tables}
    return {name: path for name, path in paths.items() if path is not None}


def _directory(sink: AnySink) -> str | None:
    if isinstance(sink, PathSink):
        return sink.path
    return sink.sink.directory if isinstance(sink, BoundSink) else None
