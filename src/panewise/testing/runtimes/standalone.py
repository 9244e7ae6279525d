"""Plays events in a standalone operator, through its public interface.

With the option `messages` the rows of an event are added one by one, into a buffer that becomes one batch.
With the option `stored`, and if the specification changes, the state is in a directory. Every event is
flushed, and a restart closes the operator and opens the directory again. With the option `exported` the state
is exported before each event, and another operator continues with it, unless the events return to a
checkpoint, which is not exported.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from panewise.calls import one_at_a_time
from panewise.engine.columns import ROW
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.standalone import Counts, Emission, StandaloneOperator
from panewise.testing.event import Event
from panewise.testing.events import Script
from panewise.testing.ingest import frame
from panewise.testing.runtimes import check_options
from panewise.testing.runtimes.engine import COUNTS, Tables, dicts, plain


def play(script: Script) -> list[dict[str, Any]]:
    """Returns the output of a standalone operator after each event."""
    check_options(script, "messages", "stored", "exported")
    with TemporaryDirectory(prefix="panewise-") as directory:
        player = _Player(script, Path(directory))
        try:
            return [
                player.after(event, batch) for event, batch in zip(script.events, script.added, strict=True)
            ]
        finally:
            player.operator.close()


class PlayedOperator(StandaloneOperator):
    """A standalone operator that events are played on."""

    @one_at_a_time
    def add_flagged(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Adds a batch whose rows may be flagged as misfits, as messages are."""
        self._core.prepare()
        self._core.add(frames)


@dataclass
class _Player:
    """A standalone operator that plays events.

    Attributes:
        counts: the counts of the operator before the present event.
        added_aggregates: those of the last change of the specification.
    """

    script: Script
    directory: Path
    operator: PlayedOperator = field(init=False)
    exports: int = 0
    counts: dict[str, Counts] = field(default_factory=dict)
    added_aggregates: AddedAggregates = "null"

    def __post_init__(self) -> None:
        self.operator = self._new_operator()

    def _new_operator(self, state: Path | None = None) -> PlayedOperator:
        types: Any = {port: {**of, ROW: "bigint"} for port, of in self.script.types.items()}
        store = self.directory / str(self.exports) if self._is_stored else None
        return PlayedOperator(
            self.script.spec,
            types,
            buffer=None,
            store=store,
            initial_state=state,
            added_aggregates=self.added_aggregates,
        )

    @property
    def _is_stored(self) -> bool:
        changes = any(event.op == "change" for event in self.script.events)
        return changes or bool(self.script.options.get("stored"))

    def after(self, event: Event, batch: Any) -> dict[str, Any]:
        """Plays one event; returns the output after it."""
        if self._exports:
            self._move()
        if event.op == "restart":
            self._restart()
        elif event.spec is not None:
            self.script, self.added_aggregates = replace(self.script, spec=event.spec), event.added_aggregates
            self._restart()
        else:
            self._play(event)
        emissions = self.operator.get_result()
        self.operator.flush()
        output = plain(self._tables(emissions), batch, self.script)
        return output | ({"windows": dicts(self.operator.live())} if self.script.windows else {})

    @property
    def _exports(self) -> bool:
        returns = any(event.op == "checkpoint" for event in self.script.events)
        return bool(self.script.options.get("exported")) and not returns

    def _move(self) -> None:
        """Continues with the exported state."""
        file = self.directory / f"{self.exports}.state"
        self.operator.export_state(file)
        self.operator.close()
        self.exports += 1
        self.operator = self._new_operator(file)

    def _restart(self) -> None:
        if self._is_stored:
            self.operator.close()
            self.operator = self._new_operator()

    def _play(self, event: Event) -> None:
        operator = self.operator
        match event:
            case Event("add"):
                self._add(event)
            case Event("watermark"):
                operator.advance(watermark=event.to, input=event.source)
            case Event("clock"):
                operator.advance(clock=event.to)
            case Event("finish"):
                operator.finish(event.port)
            case Event("checkpoint"):
                operator.life_cycle.checkpoint("last")
            case Event("reset"):
                operator.life_cycle.reset("last")
            case Event("evict"):
                operator.life_cycle.evict_partition(event.partition)
            case _:
                getattr(operator.life_cycle, event.op)()

    def _add(self, event: Event) -> None:
        script = self.script
        numbered = {
            port: [{**row, ROW: number} for number, row in enumerate(rows)]
            for port, rows in event.rows.items()
        }
        if script.options.get("messages") and any(numbered.values()):
            for port, rows in numbered.items():
                for row in rows:
                    self.operator.add_message(row, port)
            return
        frames: Mapping[str, pl.DataFrame] = {
            port: frame(script.ports[port], script.types[port], rows) for port, rows in event.rows.items()
        }
        self.operator.add_flagged(frames)

    def _tables(self, emissions: list[Emission]) -> Tables:
        """Returns the tables of the emissions, and the counts of the event."""
        tables: list[tuple[str, str, pl.DataFrame]] = []
        for emission in emissions:
            frames = {"panes": emission.rows, "late": emission.late, "invalid": emission.invalid}
            tables += [(kind, emission.input, table) for kind, table in frames.items()]
        before, self.counts = self.counts, self.operator.counts
        for port, after in self.counts.items():
            old = before.get(port, Counts())
            line = {name: getattr(after, name) - getattr(old, name) for name in COUNTS}
            tables.append(("counts", port, pl.DataFrame([line])))
        return tables
