"""The strategies of changes of a specification."""

from hypothesis import given
from hypothesis import strategies as st

from panewise.spec.codec import to_dict
from panewise.spec.evolution import continuation
from panewise.testing.strategies import specs
from tests.changes import changes, placed
from tests.engine.effort import FEW


@FEW
@given(data=st.data())
def test_each_change_continues_the_specification_before(data: st.DataObject) -> None:
    """semantics 47.2: none of them is refused. They keep their order among other events."""
    spec = data.draw(specs())
    changed = data.draw(changes(spec))
    for event in changed:
        spec = continuation(to_dict(spec), event["spec"], event["added_aggregates"]).spec
    others = [{"op": "restart"}, {"op": "finish"}]
    script = data.draw(placed(others, changed))
    assert [event for event in script if event["op"] == "change"] == changed
    assert script[-1] == {"op": "finish"}
