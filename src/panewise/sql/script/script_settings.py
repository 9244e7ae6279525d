"""The settings of panewise in a script, and what their values mean (semantics 46.41)."""

from collections.abc import Mapping
from typing import Final

from panewise.errors import SetupError, SpecError
from panewise.sql.parsing.intervals import length_of
from panewise.sql.script.steps import Trigger

# The settings of a script. All others are those of the session.
OWN_SETTINGS: Final = ("panewise.checkpoint", "panewise.finish", "panewise.trigger")
_OF_SESSION: Final = (
    "panewise.cacheMegabytes",
    "panewise.mirrorMegabytes",
    "panewise.stateMegabytes",
    "panewise.metrics",
)
_FINISH: Final = ("at_end", "never")
_AVAILABLE: Final = frozenset({"availablenow", "available now", "available_now", "once"})


class ScriptSettings:
    """The settings of panewise at a place of a script.

    Args:
        conf: the settings of the command, which SET does not change.

    Raises:
        SetupError: if one of these is wrong.
    """

    def __init__(self, conf: Mapping[str, str]) -> None:
        self._values: dict[str, str] = {}
        self._fixed: frozenset[str] = frozenset()
        for key, value in conf.items():
            try:
                self.make(key, value)
            except SpecError as error:
                raise SetupError(f"--conf {key}={value}", error.rule, error.remedy) from None
        self._fixed = frozenset(map(_key_of, conf))

    def make(self, key: str, value: str) -> None:
        """Makes a setting, unless the command has made it.

        Raises:
            SpecError: if there is no such setting, or it has no such value.
        """
        own = _key_of(key)
        if own not in OWN_SETTINGS and own.startswith("panewise.") and key not in _OF_SESSION:
            rule = f"the settings of panewise are {[*OWN_SETTINGS, *_OF_SESSION]}"
            raise SpecError(f"SET {key}", rule, "set one of these")
        if own == "panewise.trigger":
            trigger_of(value)
        if own == "panewise.finish":
            at_end_of(value)
        if own in OWN_SETTINGS and own not in self._fixed:
            self._values[own] = value

    def replaces(self, key: str) -> bool:
        """Returns whether the command has made this setting."""
        return _key_of(key) in self._fixed

    def trigger(self, options: Mapping[str, str]) -> Trigger:
        """Returns the trigger of a query whose sink has these options."""
        text = options.get("trigger", self._values.get("panewise.trigger"))
        return Trigger() if text is None else trigger_of(text)

    def at_end(self, options: Mapping[str, str]) -> bool:
        """Returns whether the end of a stream is the end of the input of a query."""
        return at_end_of(options.get("finish", self._values.get("panewise.finish", "never")))

    def checkpoint(self, options: Mapping[str, str], table: str) -> str | None:
        """Returns the directory of the checkpoint of a query, None if there is none."""
        root = self._values.get("panewise.checkpoint")
        default = None if root is None else f"{root.rstrip('/')}/{table.lower()}"
        return options.get("checkpoint", default)


def is_own(key: str) -> bool:
    """Returns whether a setting is one of panewise for a script."""
    return _key_of(key) in OWN_SETTINGS


def _key_of(key: str) -> str:
    """Returns a key by which settings are found. Case has no effect for those of panewise."""
    return key.lower() if key.lower().startswith("panewise.") else key


def trigger_of(text: str) -> Trigger:
    """Returns the trigger that a text describes.

    >>> trigger_of("available now"), trigger_of("2 seconds").processing_time
    (Trigger(available_now=True, processing_time=None), '2000000 microseconds')

    Raises:
        SpecError: if it describes none.
    """
    if text.strip().lower() in _AVAILABLE:
        return Trigger(available_now=True)
    try:
        length = length_of(text)
    except SpecError:
        rule = "a trigger is 'available now', or the interval between micro-batches"
        raise SpecError(f"trigger {text!r}", rule, "write for example '10 seconds'") from None
    return Trigger(processing_time=f"{length.us} microseconds")


def at_end_of(text: str) -> bool:
    """Returns whether the end of a stream is the end of the input.

    Raises:
        SpecError: if the text is no value of `finish`.
    """
    if text.lower() not in _FINISH:
        raise SpecError(f"finish {text!r}", "finish is at_end or never", "write one of these")
    return text.lower() == "at_end"
