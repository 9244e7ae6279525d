"""The outputs of a window operator that have not been accepted yet, in their order (semantics 32 to 32.4)."""

import inspect
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from panewise.calls import Calls
from panewise.errors import DeliveryDisabledError, InputError
from panewise.standalone.answers import refuses
from panewise.standalone.arguments import check_mode
from panewise.standalone.retained.outputs import RejectedMessage, WindowOutput

Downstream: TypeAlias = Callable[[WindowOutput], object]
ErrorOutput: TypeAlias = Callable[[RejectedMessage], object]
Mode: TypeAlias = Literal["standalone", "automatic"]


class Outbox:
    """Outputs and rejected messages that wait.

    Args:
        mode: "standalone" or "automatic".
        downstream: with "automatic" what receives outputs.
        error_output: what receives rejected messages; None: they wait until they are drained.
        on_write: is called with "output" before each delivery.

    Attributes:
        calls: which thread is within a call of the operator.
        outputs: the outputs that wait, the oldest first.
        rejected: the rejected messages that wait.
        disabled: whether the downstream has refused the first output, or the error output raised an error.
        changed: is called after each step and when the operator is closed, for the front of asyncio.
    """

    def __init__(
        self,
        mode: Any,
        downstream: Downstream | None,
        error_output: ErrorOutput | None,
        on_write: Callable[[str], object],
    ) -> None:
        _check(mode, downstream, error_output)
        self._downstream, self._error_output, self._on_write = downstream, error_output, on_write
        self.outputs, self.rejected = deque[WindowOutput](), deque[RejectedMessage]()
        self.calls, self.disabled = Calls("an operator"), False
        self.changed: Callable[[], object] = lambda: None

    @property
    def automatic(self) -> bool:
        """Whether outputs are passed to a downstream."""
        return self._downstream is not None

    def deliver(self) -> bool:
        """Passes what waits on, in its order. Returns whether the downstream refused nothing.

        What leaves a queue has been accepted. So an output whose delivery raised an error is delivered again.
        """
        self.changed()
        while self.rejected and self._error_output is not None:
            self.disabled = True
            self._error_output(self.rejected[0])
            self.rejected.popleft()
        while self.outputs and self._downstream is not None:
            self.disabled = True
            self._on_write("output")
            if refuses(self._downstream(self.outputs[0])):
                return False
            self.outputs.popleft()
        self.disabled = False
        return True

    def discard(self, sequence: int) -> None:
        """Removes the outputs with higher numbers than `sequence`."""
        earlier = [one for one in self.outputs if one.sequence <= sequence]
        self.outputs.clear()
        self.outputs.extend(earlier)

    def check_enabled(self) -> None:
        """Raises DeliveryDisabledError if the downstream or the error output has refused something."""
        if self.disabled:
            rule = "after an output or a rejected message was refused nothing can be added"
            remedy = "call timeout() until it returns True, then repeat the call"
            given = f"{len(self.outputs)} outputs that wait, and {len(self.rejected)} rejected messages"
            raise DeliveryDisabledError(given, rule, remedy)


def _check(mode: Any, downstream: Any, error_output: Any) -> None:
    check_mode(mode, downstream, receives="output", remedy="give a plain function")
    if error_output is None:
        return
    if not callable(error_output) or inspect.iscoroutinefunction(error_output):
        rule = "an error output is a function of a rejected message, and nothing awaits it"
        raise InputError(f"error_output={error_output!r}", rule, "give a plain function, or leave it out")
