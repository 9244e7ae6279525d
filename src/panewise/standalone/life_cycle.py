"""The life cycle of an operator, as S5 describes it for windows: drain, checkpoint, reset, evict."""

from collections.abc import Mapping
from typing import Any

from panewise.engine.ingest.output import Output
from panewise.errors import InputError
from panewise.standalone.delivery import Delivery


class LifeCycle:
    """The life cycle of an operator, as its attribute `life_cycle`.

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

    Source: S5 "StateHandler"; semantics 33.1 to 33.5.
    """

    def __init__(self, delivery: Delivery) -> None:
        self._delivery, self._driver = delivery, delivery.driver
        self._callbacks = delivery.callbacks
        self._callbacks.setup()
        if self._driver.host.notes:
            self._callbacks.restored("commit")

    def drain(self) -> bool:
        """Completes outstanding work: evaluates the buffer and, in `mode="automatic"`, delivers emissions.

        Returns:
            Whether nothing waits any more; False if the downstream refused an emission.
        """
        self._delivery.check_open()
        if self._delivery.deliver():
            self._delivery.evaluate()
        if self._delivery.disabled:
            return False
        self._callbacks.drained()
        return True

    def checkpoint(self, name: str) -> None:
        """Saves the whole state, with the positions, under a name. With a store the copy is durable.

        Messages that wait are evaluated first. A checkpoint of the same name is replaced.

        Raises:
            DeliveryDisabledError: if the downstream has refused an emission that still waits.
            InputError: if the name is not a non-empty string.
            StateError: if the store cannot be written.
        """
        _check_name(name)
        self._delivery.ready().save(name)
        self._callbacks.checkpoint(name)

    def reset(self, name: str) -> None:
        """Returns to a checkpoint. What came since is discarded without an output.

        Processing time does not turn back: what is due at it happens at once. Numbers of rows continue.
        Messages that wait are discarded, and so are emissions of later steps.

        Raises:
            InputError: if there is no such checkpoint.
        """
        self._delivery.check_open()
        self._delivery.catch_up()
        _check_name(name)
        now = self._driver.operator.state.clocks.processing_time
        if not self._driver.restore(name):
            raise InputError(f"reset({name!r})", "a reset returns to a checkpoint", "make it before")
        self._driver.step(lambda operator: [operator.advance(processing_time=now)])
        self._delivery.settle()
        self._callbacks.restored(name)

    def reset_to_initial(self) -> None:
        """Returns to the state before the first row, without an output. Processing time does not turn back.

        Messages and emissions that wait are discarded, and so are the positions.
        """
        self._delivery.check_open()
        self._delivery.catch_up()
        self._driver.restore(None)
        self._delivery.settle()
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
        if not hasattr(self._driver.operator, "evict"):
            rule = "only policy windows have partitions that can be evicted (semantics 10.23)"
            raise InputError("evict_partition()", rule, "use a StreamWindow with partition_by")
        self._delivery.ready().step(lambda operator: [_evicted(operator, partition)])
        self._delivery.settle()


def _evicted(operator: Any, partition: Mapping[str, Any]) -> Output:
    output: Output = operator.evict(partition)
    return output


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise InputError(f"{name!r}", "a checkpoint has a name", "give a non-empty string")
