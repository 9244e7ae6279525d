"""The life cycle of an operator, as S5 describes it for windows: drain, checkpoint, reset, evict."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from panewise.errors import InputError
from panewise.standalone.core import Core
from panewise.standalone.delivery import Delivery


class LifeCycle:
    """The life cycle of an operator, as its attribute `life_cycle`.

    Args:
        delivery: the outputs of the operator, and the functions that are called after each of these steps.
        core: the operator.
        continues: whether the operator continues the last commit of its store.

    >>> from panewise import StreamWindow
    >>> from panewise.streamwindow import count
    >>> from panewise.standalone import StandaloneOperator
    >>> operator = StandaloneOperator(StreamWindow.tumbling(count(2)), {"v": "bigint"})
    >>> operator.add_message({"v": 1})
    >>> operator.life_cycle.checkpoint("one")
    >>> operator.add_message({"v": 2})
    >>> operator.life_cycle.reset("one")
    >>> operator.live()["pending"].to_list()
    [1]

    Source: S5 "StateHandler"; semantics 33.1 to 33.8.
    """

    def __init__(self, delivery: Delivery[Any], core: Core, *, continues: bool) -> None:
        self._delivery, self._core, self._callbacks = delivery, core, delivery.callbacks
        self._callbacks.setup()
        if continues:
            self._callbacks.restored("commit")

    def drain(self) -> bool:
        """Completes outstanding work: evaluates the buffer and, in `mode="automatic"`, delivers what waits.

        Returns:
            Whether nothing waits any more; False if the downstream refused something.
        """
        with self._call():
            self._core.drain()
            if self._delivery.disabled:
                return False
        self._callbacks.drained()
        return True

    def checkpoint(self, name: str) -> None:
        """Saves the whole state, with the positions, under a name. With a store the copy is durable.

        Messages that wait are evaluated first. A checkpoint of the same name is replaced. What the operator
        has emitted is not a part of the state: drain it before.

        Raises:
            DeliveryDisabledError: if the downstream has refused what still waits.
            InputError: if the name is not a non-empty string.
            StateError, StoreError: if the store cannot be written.
        """
        with self._call():
            _check_name(name)
            self._core.save(name)
        self._callbacks.checkpoint(name)

    def reset(self, name: str) -> None:
        """Returns to a checkpoint. What came since is discarded without an output.

        Processing time does not turn back: what is due at it happens at once. Numbers of rows and of outputs
        continue. Messages that wait are discarded, and so is what later steps have emitted.

        Raises:
            InputError: if there is no such checkpoint.
            StateError, StoreError: if the store cannot be read or written.
        """
        with self._call():
            _check_name(name)
            if not self._core.restore(name):
                raise InputError(f"reset({name!r})", "a reset returns to a checkpoint", "make it before")
        self._callbacks.restored(name)

    def reset_to_initial(self) -> None:
        """Returns to the state before the first row, without an output. Processing time does not turn back.

        What waits is discarded, and so are the positions.
        """
        with self._call():
            self._core.restore(None)
        self._callbacks.restored(None)

    def evict_partition(self, partition: Mapping[str, Any]) -> None:
        """Evicts a partition of policy windows, which raises PARTITION_EVICTION, if it exists.

        Args:
            partition: the values of the columns of `partition_by`.

        Raises:
            DeliveryDisabledError: if the downstream has refused an emission that still waits.
            InputError: if the operator is not one of policy windows with `partition_by`, or the columns or
                the types of the values are others.
        """
        with self._call():
            if not self._core.evict(partition):
                rule = "only policy windows have partitions that can be evicted (semantics 10.23)"
                raise InputError("evict_partition()", rule, "use a StreamWindow with partition_by")

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Marks a call, after checking that the operator is open."""
        with self._delivery.calls.within():
            self._delivery.check_open()
            yield


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise InputError(f"{name!r}", "a checkpoint has a name", "give a non-empty string")
