"""The outputs of a window operator that have not been accepted yet, in their order (semantics 32 to 32.4)."""

import inspect
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from panewise.errors import DeliveryDisabledError, InputError
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
        outputs: the outputs that wait, the oldest first.
        rejected: the rejected messages that wait.
        disabled: whether the downstream has refused the first output, or the error output raised an error.
        calling: whether a function of the caller may be running.
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
        self.disabled = self.calling = False

    @property
    def automatic(self) -> bool:
        """Whether outputs are passed to a downstream."""
        return self._downstream is not None

    def deliver(self) -> bool:
        """Passes what waits on, in its order. Returns whether the downstream refused nothing.

        What leaves a queue has been accepted. So an output whose delivery raised an error is delivered again.
        """
        while self.rejected and self._error_output is not None:
            self.disabled = True
            with self.calls():
                self._error_output(self.rejected[0])
            self.rejected.popleft()
        while self.outputs and self._downstream is not None:
            self.disabled = True
            with self.calls():
                self._on_write("output")
                if _refuses(self._downstream(self.outputs[0])):
                    return False
            self.outputs.popleft()
        self.disabled = False
        return True

    @contextmanager
    def calls(self) -> Iterator[None]:
        """Marks work that calls functions of the caller, which then must not call the operator."""
        self.calling = True
        try:
            yield
        finally:
            self.calling = False

    def check_outside(self) -> None:
        """Raises InputError if a function of the caller runs within a call of the operator."""
        if self.calling:
            rule = "a function that an operator calls does not call the operator"
            raise InputError("a call within another call", rule, "return first, then make the call")

    def check_enabled(self) -> None:
        """Raises DeliveryDisabledError if the downstream or the error output has refused something."""
        if self.disabled:
            rule = "after an output or a rejected message was refused nothing can be added"
            remedy = "call timeout() until it returns True, then repeat the call"
            given = f"{len(self.outputs)} outputs that wait, and {len(self.rejected)} rejected messages"
            raise DeliveryDisabledError(given, rule, remedy)


def _refuses(answer: object) -> bool:
    """Returns whether the answer of a downstream is False."""
    return answer is False


def _check(mode: Any, downstream: Any, error_output: Any) -> None:
    if mode not in ("standalone", "automatic"):
        raise InputError(f"mode={mode!r}", "the modes are 'standalone' and 'automatic'", "give one of these")
    if (mode == "automatic") != callable(downstream):
        rule = "mode='automatic' has a downstream, which is a function, and mode='standalone' has none"
        given = f"mode={mode!r} with downstream={downstream!r}"
        raise InputError(given, rule, "give both, or leave out both")
    if error_output is not None and not callable(error_output):
        rule = "an error output is a function of a rejected message"
        raise InputError(f"error_output={error_output!r}", rule, "give a function, or leave it out")
    if any(map(inspect.iscoroutinefunction, (downstream, error_output))):
        rule = "a downstream returns when it has received the output, and nothing awaits it"
        raise InputError("a downstream with 'async def'", rule, "give a plain function")
