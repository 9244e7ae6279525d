"""Everything panewise raises, and the form of its messages.

PanewiseError
├── SpecError (ValueError)          a specification breaks a rule
├── InputError (ValueError)         what is fed to an operator does not fit its specification
├── SetupError (RuntimeError)       Spark, Java or a setting is not what the operator needs
├── StateError (RuntimeError)       state is corrupt, of an unknown format, or of another specification
└── AggregateOverflowError (ArithmeticError)  an aggregate left its type's range
SpecWarning (UserWarning)           a specification may not do what is meant
├── DataLossWarning                 the trigger can close windows while rows for them may still come
├── IdleTriggerWarning              a part of the trigger can never fire
└── ManyWindowsWarning              a row is in very many windows
SetupWarning (UserWarning)          a setting of Spark works, but costs much
└── ShufflePartitionsWarning        far more shuffle partitions than cores

Every message has three parts: what was given | the rule that it breaks | what to do.
"""

_POLARS_NOTE = "\n\nThis error occurred in the following "  # Polars adds the expression that called a function which raised


def explain(given: str, rule: str, remedy: str) -> str:
    """Joins the three parts of a message.

    >>> explain("size=0", "a size is above zero", "give a size such as '1 minute'")
    "size=0 | a size is above zero | give a size such as '1 minute'"
    """
    return f"{given} | {rule} | {remedy}"


class PanewiseError(Exception):
    """Base of every error that panewise raises on purpose."""

    def __init__(self, given: str, rule: str | None = None, remedy: str = "") -> None:
        # Spark and Polars carry errors across by their type and message alone, and so call this with the message.
        message = given.split(_POLARS_NOTE, maxsplit=1)[0] if rule is None else explain(given, rule, remedy)
        super().__init__(message)
        self.given, self.rule, self.remedy = (*message.split(" | ", 2), "", "")[:3]


class SpecError(PanewiseError, ValueError):
    """A specification breaks a rule of docs/semantics.md."""


class RefusedNameError(SpecError, AttributeError):
    """A name of pyspark that panewise does not have; `hasattr` is False for it."""


class InputError(PanewiseError, ValueError):
    """Rows, columns or events do not fit the specification."""


class SetupError(PanewiseError, RuntimeError):
    """Spark, Java or one of their settings is not what the operator needs."""


class StateError(PanewiseError, RuntimeError):
    """Stored state is corrupt, of an unknown format, or of another specification."""


class AggregateOverflowError(PanewiseError, ArithmeticError):
    """An aggregate left the range of its result type (semantics 24.3)."""


class SpecWarning(UserWarning):
    """A specification may not do what is meant."""


class DataLossWarning(SpecWarning):
    """The trigger can close a window while rows for it may still come (semantics 19)."""


class IdleTriggerWarning(SpecWarning):
    """A part of the trigger can never fire (semantics 16.13)."""


class ManyWindowsWarning(SpecWarning):
    """A row can be in more than 1,000 windows, each of which is stored and evaluated (semantics 6.9)."""


class SetupWarning(UserWarning):
    """A setting of Spark works, but costs much."""


class ShufflePartitionsWarning(SetupWarning):
    """A streaming query has far more shuffle partitions than cores; a checkpoint keeps its number for good."""
