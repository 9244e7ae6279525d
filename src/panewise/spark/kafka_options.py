"""Options of Spark's Kafka connector."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.errors import SpecError

SERVERS: Final = "kafka.bootstrap.servers"


def checked_options(options: Any) -> dict[str, str]:
    """Returns options of Spark's Kafka connector. Errors show only their names, as there may be passwords."""
    texts = isinstance(options, Mapping) and all(
        isinstance(text, str) for pair in options.items() for text in pair
    )
    if not texts:
        rule = "options are texts by the names that Spark's Kafka connector has for them"
        raise SpecError("options of Kafka that are no texts", rule, f"give {{{SERVERS!r}: 'host:9092'}}")
    if SERVERS not in options:
        rule = f"the connector finds the brokers by {SERVERS!r}"
        raise SpecError(f"options with {sorted(options)}", rule, f"add {SERVERS!r}: 'host:9092'")
    own = sorted({*options} & {"topic", "subscribe", "subscribePattern", "assign"})
    if own:
        raise SpecError(
            f"options with {own}", "the topic is an argument of its own, and no option", "leave them out"
        )
    return dict(options)


def producer_options(options: Any) -> dict[str, str]:
    """Returns the options of a sink. Spark ignores those that do not begin with `kafka.`."""
    checked = checked_options(options)
    others = sorted(name for name in checked if not name.lower().startswith("kafka."))
    if others:
        rule = "a sink has options of Kafka's producer, whose names begin with kafka."
        raise SpecError(f"options with {others}", rule, "leave them out, or write kafka. before them")
    return checked
