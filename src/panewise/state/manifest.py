"""The manifest of a state: JSON text that names the runs, the oldest first, and contains all else."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import xxhash

from panewise.errors import StateError

FORMAT: Final = 2
READABLE: Final = (1, 2)
REMEDY: Final = "restore the checkpoint from a copy, or start from a new one"
# The names of fields in the header of a state that has inputs with watermarks of their own. Stored states
# have them, so they stay, also where they are not the words of the glossary.
SINCE: Final = "since"
REPORTS: Final = "told"
_OPTIONAL = ("deadline", "event_deadline", "checksum")
# Attributes of runs that have another name in a stored manifest.
_STORED_NAMES: Final = {"earliest_since": "waiting", "event_deadline": "mark"}
_NAME = re.compile(r"[0-9]{1,19}(\.[0-9]{1,9})?-[0-9]{1,19}")
_CHECKSUM = re.compile(r"[0-9a-f]{32}")

Checks = Mapping[str, Callable[[Any], bool]]


@dataclass(frozen=True)
class Run:
    """The description of an immutable run, from which a step decides whether it must read the run.

    Attributes:
        name: the name of the run.
        rows: how many rows it has.
        low: the least end of its windows.
        high: the greatest end of its windows.
        earliest_since: the least F (semantics 16.3) of its open windows with pending rows; None if there is
            none.
        part: the part of the hashes to which its rows belong; None for an undivided run.
        deadline: the earliest deadline of a trigger in processing time; None if there is none.
        event_deadline: the earliest watermark that a trigger waits for; None if there is none.
        checksum: the checksum of the stored bytes (:func:`panewise.state.run_format.checksum`). None before
            the run is stored, and in a manifest of format 1.
    """

    name: str
    rows: int
    low: int
    high: int
    earliest_since: int | None = None
    part: int | None = None
    deadline: int | None = None
    event_deadline: int | None = None
    checksum: str | None = None


@dataclass(frozen=True)
class Manifest:
    """The state of one shard at one version.

    Attributes:
        spec: the specification that it was made with, as JSON.
        shards: the number of shards of the query.
        version: how many times this shard has committed.
        runs: the runs, the oldest first.
        header: the clocks and everything else of the operator that is not in a table.
    """

    spec: dict[str, Any]
    shards: int = 1
    version: int = 0
    runs: tuple[Run, ...] = ()
    header: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> str:
        """Returns the manifest as JSON text."""
        runs = [
            {
                _STORED_NAMES.get(name, name): value
                for name, value in vars(run).items()
                if value is not None or name not in _OPTIONAL
            }
            for run in self.runs
        ]
        fields = vars(self) | {"runs": runs}
        return _dumped({"panewise_state": FORMAT, "checksum": _checksum(fields), **fields})

    @classmethod
    def decode(cls, text: str) -> "Manifest":
        """Returns the manifest of a JSON text. Its `spec` and `header` are not checked here.

        Raises:
            StateError: if the text is not a manifest, is damaged, or has an unknown format.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _no_manifest(f"manifest {text[:80]!r}") from error
        if not isinstance(fields, dict) or "panewise_state" not in fields:
            raise _no_manifest(f"manifest {text[:80]!r}")
        version = fields.pop("panewise_state")
        if not _whole(version) or version not in READABLE:
            rule = f"this version of panewise reads formats {READABLE[0]} to {READABLE[-1]}"
            raise StateError(
                f"a manifest of format {str(version)[:20]}", rule, "use the version of panewise that wrote it"
            )
        if version > 1 and fields.pop("checksum", None) != _checksum(fields):
            raise StateError("a manifest whose checksum does not match", "manifests never change", REMEDY)
        check_fields("a manifest", fields, _MANIFEST, required=_MANIFEST)
        for run in fields["runs"]:
            check_fields("a run of a manifest", run, _RUN, required=("name", "rows", "low", "high"))
        names = [run["name"] for run in fields["runs"]]
        if len(set(names)) < len(names):
            raise _no_manifest(f"a manifest with two runs {max(names, key=names.count)!r}")
        return cls(**(fields | {"runs": tuple(map(_run, fields["runs"]))}))

    def following(self, runs: tuple[Run, ...], header: dict[str, Any]) -> "Manifest":
        """Returns the manifest of the next version, with these runs and this header."""
        return replace(self, version=self.version + 1, runs=runs, header=header)


def _run(stored: Mapping[str, Any]) -> Run:
    """Returns the description of a run in a manifest."""
    fields = {name: stored[key] for name, key in _STORED_NAMES.items() if key in stored}
    return Run(**fields, **{key: value for key, value in stored.items() if key not in _STORED_NAMES.values()})


def newest_record(texts: Iterable[str]) -> Manifest | None:
    """Returns the newest of the records of a checkpoint, which are manifests without runs; None if none is.

    Each change of the specification adds a record, with the next version.
    """
    records = [Manifest.decode(text.strip()) for text in texts if text.strip()]
    return max(records, key=lambda record: record.version, default=None)


def check_fields(
    whose: str, fields: Any, checks: Checks, *, required: "Mapping[str, Any] | tuple[str, ...]"
) -> None:
    """Checks that each field of a JSON object is known and valid, and that the required ones are present."""
    if not isinstance(fields, dict):
        raise _no_manifest(f"{whose} that is {str(fields)[:40]!r}")
    for name in required:
        if name not in fields:
            raise _no_manifest(f"{whose} without {name!r}")
    for name, value in fields.items():
        if name not in checks or not checks[name](value):
            raise _no_manifest(f"{whose} with {name[:40]}={str(value)[:40]!r}")


def _no_manifest(problem: str) -> StateError:
    return StateError(problem, "a manifest is the JSON that panewise wrote", REMEDY)


def whole(low: int = -(2**63), high: int = 2**63 - 1) -> Callable[[Any], bool]:
    """Returns a check for whole numbers from `low` to `high`, both included. Booleans fail it."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def optional(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Returns a check that accepts null and what `check` accepts."""
    return lambda value: value is None or check(value)


def checked(header: Mapping[str, Any], more: Checks | None = None) -> Mapping[str, Any]:
    """Returns the header, after checking it. `{}` is the header of a state without any commit.

    `more` are the fields that a family adds.

    Raises:
        StateError: if a field is missing, or has a value that it cannot have.
    """
    checks = {**_HEADER, **(more or {})}
    if header:
        known = {name: value for name, value in header.items() if name in checks}
        check_fields(
            "a header", known, checks, required=("processing_time", "watermark", "finished", "marks")
        )
    return header


def flag(value: Any) -> bool:
    """Returns whether a value is a Boolean."""
    return isinstance(value, bool)


def marks(value: Any) -> bool:
    """Returns whether a value is a list of lists of nulls, texts, whole numbers and Booleans."""
    return isinstance(value, list) and all(
        isinstance(row, list) and all(isinstance(it, (str, bool)) or _instant(it) for it in row)
        for row in value
    )


def inputs(value: Any) -> bool:
    """Returns whether a value has the form of `inputs`.

    SINCE is the first reading of the clock. REPORTS has a pair for each input: its watermark, and when it
    last reported one.
    """
    if not isinstance(value, dict) or value.keys() != {SINCE, REPORTS}:
        return False
    reports = value[REPORTS]
    return (isinstance(reports, dict) and _instant(value[SINCE])) and all(
        isinstance(pair, list) and len(pair) == 2 and all(map(_instant, pair)) for pair in reports.values()
    )


def _matches(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _dumped(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def _checksum(fields: dict[str, Any]) -> str:
    return xxhash.xxh3_128_hexdigest(_dumped(fields).encode())


_whole = whole()
_instant = optional(_whole)
_HEADER: Checks = {
    "processing_time": _whole,
    "watermark": _instant,
    "finished": flag,
    "marks": marks,
    "types": lambda value: isinstance(value, dict) and all(isinstance(it, str) for it in value.values()),
    "inputs": inputs,
    "floor": _instant,
    "timer": _instant,
}
_MANIFEST: Checks = {
    "spec": lambda value: isinstance(value, dict),
    "shards": whole(1),
    "version": whole(0),
    "runs": lambda value: isinstance(value, list),
    "header": lambda value: isinstance(value, dict),
}
_RUN: Checks = {
    "name": _matches(_NAME),
    "rows": whole(0),
    "low": _whole,
    "high": _whole,
    "waiting": optional(_whole),
    "part": optional(whole(0, 15)),
    "deadline": optional(_whole),
    "mark": optional(_whole),
    "checksum": optional(_matches(_CHECKSUM)),
}
