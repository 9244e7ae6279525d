"""S1's window operators against a slow model, after every step."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.effort import at_length, examples
from tests.standalone.retained.model import Model
from tests.standalone.retained.scripts import AGGREGATES, LONG, made, settings, steps

TOTALS, VALUES = AGGREGATES[0], AGGREGATES[3]


def content(output: Any, is_join: bool) -> Any:
    """Returns the values of an output as the model has them; the sum and the count for sums."""
    if is_join:
        return sorted(message["v"] for message in output.messages)
    return list(output.window.value.values()) if len(output.window.value) > 1 else output.window.value["a"]


def check(data: st.DataObject) -> None:
    """Plays a script, and compares what is emitted and which windows are there."""
    is_join = data.draw(st.booleans())
    chosen, aggregates = data.draw(settings(join=is_join)), data.draw(st.sampled_from([TOTALS, VALUES]))
    least = 1 if chosen.by_time or chosen.session_key is not None else chosen.length
    number = data.draw(st.sampled_from([least, least + 3, LONG]))
    chosen = replace(chosen, retention_size=number, retention_time=data.draw(st.sampled_from([3, 20, LONG])))
    model, operator = Model(chosen), made(chosen, aggregates)
    summed = aggregates is TOTALS and not is_join
    for at, (what, value) in enumerate(data.draw(steps(40))):
        if what == "add":
            kind, wanted = model.add(value, 3 * at)
            assert operator.add_message(value, 3 * at) == kind
        else:
            operator.timeout(value)
            wanted = model.clock(value)
        found = [
            (one.window.start, one.window.session_key, one.firing, content(one, is_join))
            for one in operator.drain()
        ]
        if summed:
            wanted = [(*most, [sum(values), len(values)]) for *most, values in wanted]
        assert found == wanted
        windows = [
            (one.session_key, one.start, one.start_offset, one.last_offset)
            for one in operator.get_windows(-LONG, LONG)
        ]
        offsets = [(one, [offset for _, offset, _ in one.members]) for one in model.windows]
        assert windows == [(one.key, one.start, min(found), max(found)) for one, found in offsets]


@examples(100)
@given(data=st.data())
def test_an_operator_does_what_the_model_does(data: st.DataObject) -> None:
    """semantics 26.1 to 26.8: all settings, with retention by time and by number."""
    check(data)


test_an_operator_does_what_the_model_does_at_length = at_length(check, 5000, data=st.data())
