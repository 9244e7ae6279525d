"""The life cycle of a standalone operator: what each of its steps does (semantics 33.1 to 33.5)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from panewise.engine.ingest.output import Output
from panewise.engine.protocol import Operator
from panewise.standalone.deferral import Deferral
from panewise.standalone.delivery import Delivery
from panewise.standalone.life_cycle import LifeCycleSteps


def steps_of(delivery: Delivery, deferral: Deferral) -> LifeCycleSteps:
    """Returns the steps of the life cycle of an operator."""
    has_partitions = delivery.driver.operator.evict is not None
    return LifeCycleSteps(
        calls=delivery.driver.calls,
        check_open=delivery.check_open,
        drain=partial(_drain, delivery),
        save=lambda name: delivery.ready().save(name),
        restore=partial(_restore, delivery, deferral),
        evict=partial(_evict, delivery) if has_partitions else None,
    )


def _drain(delivery: Delivery) -> bool:
    if delivery.deliver():
        delivery.evaluate()
    return not delivery.disabled


def _restore(delivery: Delivery, deferral: Deferral, name: str | None) -> bool:
    """Returns to a saved state, and lets happen what is due in it."""
    delivery.catch_up()
    driver = delivery.driver
    now = driver.operator.state.clocks.processing_time
    if not driver.restore(name):
        return False
    deferral.reset()
    if name is not None:  # nothing can be due in the initial state
        driver.step(lambda operator: [operator.advance(processing_time=now)])
    delivery.settle()
    return True


def _evict(delivery: Delivery, partition: Mapping[str, Any]) -> None:
    def work(operator: Operator) -> list[Output]:
        assert operator.evict is not None
        return [operator.evict(partition)]

    delivery.ready().step(work)
    delivery.settle()
