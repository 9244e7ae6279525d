"""What the machines of all stores share: a folder, open iterators beside what they must return, the end."""

import shutil
import tempfile
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.engine.effort import runs


class AnyStore(RuleBasedStateMachine):
    """semantics 34, 34.3: a store against a model; a subclass makes `store`, and adds to `open`."""

    durable = False
    store: Any

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp() if self.durable else None
        self.open: list[tuple[Any, list[Any]]] = []

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        entries, expected = data.draw(st.sampled_from(self.open))
        assert entries.peek() == (expected[0] if expected else None)
        assert next(entries, None) == (expected.pop(0) if expected else None)

    def check_end(self) -> None:
        """Compares the store with the model."""

    def teardown(self) -> None:
        for entries, expected in self.open:
            assert list(entries) == expected
        if hasattr(self, "store"):
            self.check_end()
            self.store.close()
        if self.folder:
            shutil.rmtree(self.folder)


def in_memory(machine: Any, examples: int) -> Any:
    """Returns the test case of a machine whose stores are in memory."""
    found = machine.TestCase
    found.settings = runs(examples, steps=40)
    return found


def in_directory(machine: Any) -> Any:
    """Returns the test case of a machine whose stores are durable."""
    found = type(f"{machine.__name__}InDirectory", (machine,), {"durable": True}).TestCase
    found.settings = runs(25, steps=30)
    return found
