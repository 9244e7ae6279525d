"""The window functions and listeners that transcripts name. Made of lambdas, so that they travel to Spark's workers as they are."""

from typing import Final

from panewise import Custom, WindowListener

USER_WINDOWS: Final = {
    window.name: window
    for window in (
        Custom.each(
            lambda row: None if row["to"] is None else [(row["event_time"] + n, row["to"]) for n in range(row["n"])],
            name="until",
            columns=["to", "n"],
        ),
    )
}

# Counts as the handlers of IBM's window tests do.
_KINDS = {"inserted": "INSERTION", "triggers": "TRIGGER", "evicted": "EVICTION", "full": "INITIAL_FULL"}
_COUNTERS = {
    "__init__": lambda self: self.__dict__.update(dict.fromkeys(("inserted", "triggers", "evicted", "full"), 0)),
    "handle": lambda self, event, kinds=_KINDS: [
        self.__dict__.update({name: n + (kinds[name] == event.type) for name, n in self.__dict__.items()}) or dict(self.__dict__)
    ],
}
USER_LISTENERS: Final = {
    "counters": WindowListener(type("Counters", (), _COUNTERS), name="counters", outputs=dict.fromkeys(_KINDS, "bigint")),
}
