"""The strategy of windowed stream joins reaches every kind of window, policy and retention."""

from typing import Any

from hypothesis import strategies as st

from panewise.spec.operators.join.streams import WindowedStreams
from panewise.testing import run
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs
from panewise.testing.matches.streams import windowed_streams
from tests.testing.reached import check_reached

SIDES = ("left", "right")
WANTED = {
    *(f"{side} {window}" for side in SIDES for window in ("NoneType", "Rows", "Tumbling", "Hopping")),
    *(
        f"{side} {name} {kind}"
        for side in SIDES
        for name in ("early", "late")
        for kind in ("Always", "Every")
    ),
    *(f"{side} early NoneType" for side in SIDES),
    *(f"{side} {name}" for side in SIDES for name in ("retention", "retention_rows")),
    *(f"pairs by {op}" for op in ("add", "clock", "watermark", "finish")),
}


def test_every_class_is_drawn() -> None:
    def drawn(data: st.DataObject, _: int) -> set[str]:
        spec, found = data.draw(join_specs(match=data.draw(windowed_streams()))), set[str]()
        script = data.draw(join_events(spec))
        assert isinstance(spec.match, WindowedStreams)
        for side, window in spec.match.windows.items():
            found.add(f"{side} {type(window.window).__name__}")
            found.update(
                f"{side} {name} {type(getattr(window, name)).__name__}" for name in ("early", "late")
            )
            found.update(
                f"{side} {name}" for name in ("retention", "retention_rows") if getattr(window, name)
            )
        outputs: list[dict[str, Any]] = run(spec, script, "oracle", types=join_types(spec))
        for event, output in zip(script, outputs, strict=True):
            if output["panes"]:
                found.add(f"pairs by {event['op']}")
        return found

    check_reached(WANTED, drawn, rounds=4, samples=40)
