"""The outputs of an operator that wait, and their way to a downstream (semantics 31, 32).

Invariant: with a downstream or a loop of asyncio, a commit follows the acceptance of all outputs that led to
it. So each output is delivered at least once, and a repeated one has the numbers of the first time. `flush`
commits before it returns the outputs that it removes.
"""

import inspect
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from panewise.calls import Calls
from panewise.choices import is_choice
from panewise.errors import DeliveryDisabledError, InputError
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.emission import RejectedMessage
from panewise.standalone.waiting_calls import WaitingCalls

T = TypeVar("T")
Mode: TypeAlias = Literal["standalone", "automatic"]


class Delivery(Generic[T]):
    """The outputs that have not been accepted, and whether the operator takes calls.

    Args:
        mode: "standalone" or "automatic".
        downstream: with "automatic" the function that receives outputs.
        error_output: the function that receives rejected messages; None: they wait until they are drained.
        callbacks: the functions of the life cycle. `write` is called with "output" before each delivery.
        kind: what an output is, for errors.

    Attributes:
        calls: which thread is within a call of the operator.
        outputs: the outputs that wait, the oldest first.
        rejected: the rejected messages that wait, if the operator emits them apart.
        automatic: whether outputs are passed to a downstream.
        disabled: whether the downstream has refused the first output or raised an error, or the error output
            did. A later delivery of all that waits enables it again.
        closed: whether the operator is closed.
        failed: whether it is closed because a commit failed.
        commits: whether commits happen without `flush`, as there is a downstream or a loop of asyncio.
        waiting_calls: the calls that wait until something is emitted, accepted or removed, or the close.
    """

    def __init__(
        self,
        mode: Mode,
        downstream: Callable[[T], object] | None,
        callbacks: Callbacks,
        *,
        error_output: Callable[[RejectedMessage], object] | None = None,
        kind: Literal["emission", "output"],
    ) -> None:
        _check_mode(mode, downstream, kind)
        _check_error_output(error_output)
        self.callbacks, self._kind = callbacks, kind
        self._downstream, self._error_output = downstream, error_output
        self.calls, self.waiting_calls = Calls("an operator"), WaitingCalls()
        self.outputs, self.rejected = deque[T](), deque[RejectedMessage]()
        self.disabled = self.closed = self.failed = False
        self.automatic = self.commits = downstream is not None

    def begin_loop(self) -> None:
        """Notes that a loop of asyncio accepts the outputs, so that steps commit."""
        self.commits = True

    def deliver(self) -> bool:
        """Passes what waits on, in its order. Returns whether the downstream refused nothing.

        What leaves a queue has been accepted. So an output whose delivery raised an error is delivered again.
        """
        self.waiting_calls.notify()
        while self.rejected and self._error_output is not None:
            self.disabled = True
            self._error_output(self.rejected[0])
            self.rejected.popleft()
        while self.outputs and self._downstream is not None:
            self.disabled = True
            self.callbacks.write("output")
            if _refuses(self._downstream(self.outputs[0])):
                return False
            self.outputs.popleft()
        self.disabled = False
        return True

    def clear(self) -> None:
        """Removes all outputs, and wakes the tasks that wait for room."""
        self.outputs.clear()
        self.waiting_calls.notify()

    def discard(self, is_later: Callable[[T], bool]) -> None:
        """Removes the outputs of later steps, after the operator has returned to an earlier state."""
        earlier = [output for output in self.outputs if not is_later(output)]
        self.outputs.clear()
        self.outputs.extend(earlier)

    def check_ready(self) -> None:
        """Raises the error of an operator that takes no messages: it is closed, or an output was refused.

        Raises:
            InputError: if it is closed.
            DeliveryDisabledError: if the downstream or the error output has refused something.
        """
        if self.closed or self.disabled:  # one call for each message, not three
            self.check_open()
            self.check_enabled()

    def check_open(self) -> None:
        """Raises InputError if the operator is closed."""
        if self.closed:
            raise InputError("a closed operator", "a closed operator takes no calls", "make a new one")

    def check_enabled(self) -> None:
        """Raises DeliveryDisabledError if the downstream or the error output has refused something."""
        if self.disabled:
            fault = f"{len(self.outputs)} {self._kind}s that wait"
            if self.rejected:
                fault += f", and {len(self.rejected)} rejected messages"
            rule = f"after an {self._kind} or a rejected message was refused nothing can be added"
            remedy = "call timeout() until it returns True, then repeat the call"
            raise DeliveryDisabledError(fault, rule, remedy)

    def check_standalone(self, call: str) -> None:
        """Raises InputError if the downstream receives what a call would return."""
        if self.automatic:
            rule = f"in mode='automatic' the downstream receives all {self._kind}s"
            raise InputError(call, rule, "use mode='standalone', or timeout()")

    def close(self, release: Callable[[], object], *, failed: bool = False) -> None:
        """Ends the operator, once: wakes who waits, calls the callback `teardown`, and releases the store."""
        if self.closed:
            return
        self.closed, self.failed = True, failed
        self.waiting_calls.notify()
        try:
            with self.calls.released():
                self.callbacks.teardown()
        finally:
            release()


def _check_mode(mode: object, downstream: object, kind: str) -> None:
    if not is_choice(mode, ("standalone", "automatic")):
        raise InputError(f"mode={mode!r}", "the modes are 'standalone' and 'automatic'", "give one of these")
    if (mode == "automatic") != callable(downstream):
        rule = "mode='automatic' has a downstream, which is a function, and mode='standalone' has none"
        raise InputError(
            f"mode={mode!r} with downstream={downstream!r}", rule, "give both, or leave out both"
        )
    if inspect.iscoroutinefunction(downstream):
        rule = f"a downstream returns when it has received the {kind}, and nothing awaits it"
        remedy = "use AsyncOperator" if kind == "emission" else "use AsyncWindows"
        raise InputError("downstream with 'async def'", rule, remedy)


def _check_error_output(error_output: object) -> None:
    if error_output is not None and (not callable(error_output) or inspect.iscoroutinefunction(error_output)):
        rule = "an error output is a function of a rejected message, and nothing awaits it"
        raise InputError(f"error_output={error_output!r}", rule, "give a plain function, or leave it out")


def _refuses(answer: Any) -> bool:
    """Returns whether a downstream has returned False, or the False of NumPy, which is another object."""
    kind = getattr(getattr(answer, "dtype", None), "kind", None)
    return answer is False or (kind == "b" and answer.shape == () and not answer)
