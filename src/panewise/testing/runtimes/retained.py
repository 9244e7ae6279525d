"""The player of retained windows: a windowed aggregator, or a join window operator."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from panewise.chrono import instant_us
from panewise.spec import Aggregate
from panewise.standalone import AggregatorSettings, JoinWindowOperator, JoinWindowSettings, WindowedAggregator
from panewise.standalone.retained.outputs import WindowOutput
from panewise.testing.columns import Row

_OFFSET: Final = "offset"


class Player:
    """Retained windows that play events."""

    def __init__(
        self,
        settings: AggregatorSettings,
        aggregates: tuple[Aggregate, ...],
        types: Mapping[str, str],
        directory: Path,
    ) -> None:
        self._settings, self._aggregates, self._types = settings, aggregates, types
        self._directory = directory
        self.operator = self._opened()

    def _opened(self) -> WindowedAggregator | JoinWindowOperator:
        if isinstance(self._settings, JoinWindowSettings):
            return JoinWindowOperator(self._settings, self._types, store=self._directory)
        return WindowedAggregator(self._settings, self._aggregates, self._types, store=self._directory)

    def after(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Plays one event; returns the output after it."""
        kinds: list[str] = []
        match event["op"]:
            case "add":
                kinds = [self.operator.add_message(values(row), row.get(_OFFSET)) for row in event["rows"]]
            case "clock":
                self.operator.timeout(instant_us(event["to"], "to"))
            case "restart":
                self.operator.close()
                self.operator = self._opened()
            case "checkpoint":
                self.operator.life_cycle.checkpoint("last")
            case "reset":
                self.operator.life_cycle.reset("last")
        outputs = self.operator.drain()
        if event["op"] == "flush":
            self.operator.flush()
        rejected = self.operator.drain_rejected()
        return {
            "outputs": [_shown(output) for output in outputs],
            "kinds": kinds,
            "rejected": [
                {"row": message.message, "offset": message.offset, "reason": message.reason}
                for message in rejected
            ],
            "counts": asdict(self.operator.counts),
        }


def values(row: Row) -> dict[str, Any]:
    """Returns the columns of a row, without the offset of its message."""
    return {name: value for name, value in row.items() if name != _OFFSET}


def _shown(output: WindowOutput) -> dict[str, Any]:
    """Returns an output as a dict."""
    window = output.window
    shown: dict[str, Any] = {
        "start": window.start,
        "session_key": window.session_key,
        "firing": output.firing,
        "sequence": output.sequence,
    }
    if window.value is not None:
        return {**shown, "value": window.value}
    return {**shown, "messages": [{**message, _OFFSET: message.offset} for message in output.messages]}
