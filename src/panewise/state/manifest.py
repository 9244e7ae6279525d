"""What a state consists of: JSON text that names the runs, oldest first, and holds everything small."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from panewise.errors import StateError

FORMAT = 1
_OPTIONAL = ("deadline", "mark")


@dataclass(frozen=True)
class Run:
    """One immutable run: its name, and what can be told of it without reading it.

    How many rows it has; the earliest and latest end of their windows; the earliest processing time since which one
    waits to fire (None: none waits); which part of the hashes its rows have (None: any); and, where the trigger has such, the earliest
    deadline in processing time, and the earliest watermark that one waits for.
    """

    name: str
    rows: int
    low: int
    high: int
    waiting: int | None = None
    part: int | None = None
    deadline: int | None = None
    mark: int | None = None


@dataclass(frozen=True)
class Manifest:
    """The state of one shard at one version.

    `spec` is the specification it was made with; `header` is what the operator keeps besides its windows.
    """

    spec: dict[str, Any]
    shards: int = 1
    version: int = 0
    runs: tuple[Run, ...] = ()
    header: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> str:
        """The manifest as JSON text."""
        runs = [{name: told for name, told in vars(run).items() if told is not None or name not in _OPTIONAL} for run in self.runs]
        return json.dumps({"panewise_state": FORMAT, **vars(self), "runs": runs}, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Manifest":
        """Reads a manifest.

        Raises:
            StateError: if it is not one, or of an unknown format.
        """
        try:
            fields = json.loads(text)
            version = fields.pop("panewise_state")
            if version == FORMAT:
                return cls(**(fields | {"runs": tuple(Run(**run) for run in fields["runs"])}))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = "restore the checkpoint from a copy, or start from a new one"
            raise StateError(f"manifest {text[:80]!r}", "a manifest is the JSON that panewise wrote", remedy) from error
        rule = f"this version of panewise reads format {FORMAT}"
        raise StateError(f"a manifest of format {version}", rule, "use the version of panewise that wrote it")

    def following(self, runs: tuple[Run, ...], header: dict[str, Any]) -> "Manifest":
        """The manifest of the next version."""
        return replace(self, version=self.version + 1, runs=runs, header=header)
