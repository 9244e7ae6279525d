"""Paths as Hadoop spells them, and which of them are inside others."""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import permutations
from typing import Final

from panewise.errors import SpecError

_WILDCARD: Final = re.compile(r"[*?\[{]")
_GLOB: Final = re.compile(r"\*|\?|\[[^\]]*\]|\{[^}]*\}|.", re.DOTALL)


def place(path: str) -> str:
    """Returns a path in one spelling: the real path if it is local, else without extra slashes and dots."""
    scheme, authority, rest = _parts(path)
    if scheme in ("", "file"):
        return os.path.realpath(rest)
    return f"{scheme}://{authority}{posixpath.normpath('/' + rest.lstrip('/'))}"


def is_absolute(path: str) -> bool:
    """Returns whether a path names one place in every process."""
    return _parts(path)[2].startswith("/")


def is_path(text: str) -> bool:
    """Returns whether a text names a path, and not a table: it contains a slash, or begins with a scheme."""
    return "/" in text or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text) is not None


def is_inside(inner: str, outer: str) -> bool:
    """Returns whether a reader of the place `outer` finds what is written to the place `inner`.

    So it is not inside if it is in a directory that readers of Spark pass over.

    >>> is_inside("/out/late", "/out"), is_inside("/out", "/out"), is_inside("/output", "/out")
    (True, True, False)
    >>> is_inside("/out/_checkpoint", "/out")
    False
    """
    if inner != outer and not inner.startswith(f"{outer.rstrip('/')}/"):
        return False
    below = inner[len(outer) :].split("/")
    return not any(name.startswith(("_", ".")) for name in below)


def is_read_by(inner: str, read: str) -> bool:
    """Returns whether a source of files at a path, which may have wildcards, reads what is in a place.

    >>> is_read_by("/data/a/out", "/data/*/out"), is_read_by("/data/a/out", "/data/*.json")
    (True, False)
    """
    if _WILDCARD.search(read) is None:
        return is_inside(inner, place(read))
    pattern = re.compile("".join(map(_regular, _GLOB.findall(place(read)))))
    return any(pattern.fullmatch(outer) and is_inside(inner, outer) for outer in _directories(inner))


def without_wildcards(path: str) -> str:
    """Returns the place of the directory in which all files are that a path with wildcards may name."""
    fixed = _WILDCARD.split(path, maxsplit=1)[0]
    return place(path if fixed == path else fixed.rpartition("/")[0] or "/")


def check_apart(written: Mapping[str, str], sources: Iterable[str] = ()) -> None:
    """Checks that no path of a query is inside another one, or where a source of files reads.

    `written` are paths by what they are shown as: those of outputs and the checkpoint.

    Raises:
        SpecError: if one is.
    """
    places = {name: place(path) for name, path in written.items()}
    for inner, outer in permutations(places, 2):
        if is_inside(places[inner], places[outer]):
            rule = "a reader of a directory also reads the directories in it (semantics 49.56)"
            fault = f"{inner} at {written[inner]!r}, inside {outer} at {written[outer]!r}"
            raise SpecError(fault, rule, "give each a directory of its own, side by side")
    check_unread(written, sources)


def check_unread(
    written: Mapping[str, str], sources: Iterable[str] = (), directories: Iterable[str] = ()
) -> None:
    """Checks that a query does not write where it reads.

    Args:
        written: paths by what they are shown as.
        sources: the paths that sources of files read, which may have wildcards.
        directories: the directories that other sources read, without wildcards.

    Raises:
        SpecError: if it does.
    """
    places = {name: place(path) for name, path in written.items()}
    readers = {source: partial(_conflicts_with_source, source=source) for source in sources}
    readers |= {read: partial(_conflicts_with_directory, directory=place(read)) for read in directories}
    for source, conflicts in readers.items():
        for name, path in places.items():
            if conflicts(path):
                rule = "a query does not write where it reads (semantics 49.56)"
                fault = f"{name} at {written[name]!r} and a source that reads {source!r}"
                raise SpecError(
                    fault, rule, "give a directory that is neither in that of the source nor around it"
                )


def _conflicts_with_source(path: str, source: str) -> bool:
    """Returns whether a source of files reads in a place, or the place is around it."""
    return is_read_by(path, source) or is_inside(without_wildcards(source), path)


def _conflicts_with_directory(path: str, directory: str) -> bool:
    """Returns whether one of two places is inside the other."""
    return is_inside(path, directory) or is_inside(directory, path)


def _directories(path: str) -> Iterator[str]:
    """Yields a place and all directories that contain it."""
    while path.strip("/"):
        yield path
        path = path.rpartition("/")[0]


def _regular(part: str) -> str:
    """Returns the regular expression of a part of a path with wildcards."""
    if part in ("*", "?"):
        return "[^/]*" if part == "*" else "[^/]"
    if part[0] == "[" and len(part) > 1:
        return part.replace("[!", "[^")
    if part[0] == "{" and len(part) > 1:
        return f"(?:{'|'.join(map(re.escape, part[1:-1].split(',')))})"
    return re.escape(part)


def _parts(path: str) -> tuple[str, str, str]:
    """Returns scheme, authority and path as Hadoop reads them: `?` and `#` are not special."""
    match = re.fullmatch(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", str(path), re.DOTALL)
    assert match is not None, "every part may be empty"
    scheme, authority, rest = match.groups("")
    return scheme.lower(), authority, rest
