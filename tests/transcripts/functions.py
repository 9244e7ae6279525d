"""The window functions and listeners that transcripts name.

They are lambdas, which travel to Spark's workers by value.
"""

from typing import Final

from panewise import Custom, WindowListener

USER_WINDOWS: Final = {
    window.name: window
    for window in (
        Custom.each(
            lambda row: (
                None if row["to"] is None else [(row["event_time"] + n, row["to"]) for n in range(row["n"])]
            ),
            name="until",
            columns=["to", "n"],
        ),
    )
}

# Counts as the handlers of IBM's window tests do.
_KINDS = {"inserted": "INSERTION", "triggers": "TRIGGER", "evicted": "EVICTION", "full": "INITIAL_FULL"}
_COUNTERS = {
    "__init__": lambda self: self.__dict__.update(
        dict.fromkeys(("inserted", "triggers", "evicted", "full"), 0)
    ),
    "handle": lambda self, event, kinds=_KINDS: [
        self.__dict__.update({name: n + (kinds[name] == event.type) for name, n in self.__dict__.items()})
        or dict(self.__dict__)
    ],
}
# Asks for the partitions that a column of the event's first tuple names, in the events that another one
# names: by a letter, "+" for its own, and by their places with digits. Tells what it sees then.
_ASKING = {
    "handle": lambda self, event: [
        [
            event.evict_partition(
                None
                if letter == "+"
                else event.partitions[int(letter)].partition
                if letter.isdigit()
                else {"p": letter}
            )
            for one in event.tuples[:1]
            if event.type in one["at"].split(",")
            for letter in one["ask"]
        ]
        and None
        or {
            "held": len(event.tuples),
            "others": "".join(f"{one.partition['p']}{one.tuples}" for one in event.partitions),
            "needs": event.needs_partition_eviction,
        }
    ],
}
USER_LISTENERS: Final = {
    "asking": WindowListener(
        type("Asking", (), _ASKING),
        name="asking",
        outputs={"held": "bigint", "others": "string", "needs": "boolean"},
    ),
    "counters": WindowListener(
        type("Counters", (), _COUNTERS), name="counters", outputs=dict.fromkeys(_KINDS, "bigint")
    ),
}
