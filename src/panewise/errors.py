"""The errors and warnings of panewise, and the form of their messages.

PanewiseError
├── SpecError (ValueError)          a specification breaks a rule
│   ├── RefusedNameError (AttributeError)  panewise does not have this name of pyspark
│   └── SqlError                     a text of SQL breaks a rule; it names the place
├── InputError (ValueError)         rows, columns or events do not fit the specification
├── SetupError (RuntimeError)       Spark, Java or a setting is not what the operator needs
│   └── MissingExtraError (ModuleNotFoundError)  a package of an extra is not installed
├── ConcurrentCallError (RuntimeError)  two threads called one operator or store at the same time
├── DeliveryDisabledError (RuntimeError)  a downstream refused an emission, which still waits
├── StateError (RuntimeError)       state is corrupt, of an unknown format, or of another specification
├── StoreError (RuntimeError)       the files of a store cannot be used, or the store is closed
└── AggregateOverflowError (ArithmeticError)  the result of an aggregate does not fit its type
SpecWarning (UserWarning)           a valid specification may not do what was intended
├── DataLossWarning                 the trigger can close windows while rows for them may still arrive
├── UnguardedWatermarkWarning       `max_future_skew` does not keep a row from moving the watermark
├── DroppedLateRowsWarning          an operator of Spark drops late rows before they reach this one
├── IdleTriggerWarning              a part of the trigger can never fire
└── ManyWindowsWarning              a row can be in more than 1,000 windows
SetupWarning (UserWarning)          a setting of Spark works, but is expensive
└── ShufflePartitionsWarning        far more shuffle partitions than cores

Every message has three parts: what was given | the rule that it breaks | what to do.
"""

__all__ = [
    "AggregateOverflowError",
    "ConcurrentCallError",
    "DataLossWarning",
    "DeliveryDisabledError",
    "DroppedLateRowsWarning",
    "IdleTriggerWarning",
    "InputError",
    "ManyWindowsWarning",
    "MissingExtraError",
    "PanewiseError",
    "RefusedNameError",
    "RetiredNameError",
    "SetupError",
    "SetupWarning",
    "ShufflePartitionsWarning",
    "SpecError",
    "SpecWarning",
    "SqlError",
    "StateError",
    "StoreError",
    "UnguardedWatermarkWarning",
]

# Polars appends this text and the expression in which the function that raised was called.
_POLARS_NOTE = "\n\nThis error occurred in the following "


def explain(given: str, rule: str, remedy: str) -> str:
    """Returns a message made of its three parts.

    >>> explain("size=0", "a size is above zero", "give a size such as '1 minute'")
    "size=0 | a size is above zero | give a size such as '1 minute'"
    """
    return f"{given} | {rule} | {remedy}"


class PanewiseError(Exception):
    """Base class of all errors of panewise.

    Attributes:
        given: what was given.
        rule: the rule that it breaks.
        remedy: what to do.
    """

    def __init__(self, given: str, rule: str | None = None, remedy: str = "") -> None:
        # Spark and Polars rebuild an error from its type and message alone, so they give the whole message.
        message = given.split(_POLARS_NOTE, maxsplit=1)[0] if rule is None else explain(given, rule, remedy)
        super().__init__(message)
        self.given, self.rule, self.remedy = (*message.split(" | ", 2), "", "")[:3]


class SpecError(PanewiseError, ValueError):
    """A specification breaks a rule of docs/semantics.md."""


class RefusedNameError(SpecError, AttributeError):
    """Panewise does not have this name of pyspark; `hasattr` returns False for it."""


class SqlError(SpecError):
    """A text of SQL breaks a rule (semantics 46). The message shows the line, with a caret below the place.

    Attributes:
        line: the number of the line, from 1; None if the error has no place.
        column: the number of the character in the line, from 1; None if the error has no place.
    """

    def __init__(
        self,
        given: str,
        rule: str | None = None,
        remedy: str = "",
        *,
        sql: str = "",
        start: int | None = None,
        end: int | None = None,
    ) -> None:
        super().__init__(given, rule, remedy)
        self.line: int | None = None
        self.column: int | None = None
        if rule is not None:  # the text of SQL may contain the separator of the three parts
            self.given, self.rule, self.remedy = given, rule, remedy
        if start is None:
            return
        first = sql.rfind("\n", 0, start) + 1
        self.line, self.column = sql.count("\n", 0, start) + 1, start - first + 1
        text = sql[first:].split("\n", 1)[0]
        width = max(1, min(start + 1 if end is None else end, first + len(text)) - start)
        place = f"line {self.line}, column {self.column}"
        shown = text.replace("\t", " ")
        self.args = (f"{self.args[0]}\n{place}:\n  {shown}\n  {' ' * (start - first)}{'^' * width}",)


class RetiredNameError(PanewiseError, ImportError):
    """Another name has replaced this public name; the message says which one.

    It is an ImportError, as `from panewise import name` would replace the message of an AttributeError.
    """


class InputError(PanewiseError, ValueError):
    """Rows, columns or events do not fit the specification."""


class SetupError(PanewiseError, RuntimeError):
    """Spark, Java or one of their settings is not what the operator needs."""


class MissingExtraError(SetupError, ModuleNotFoundError):
    """A package is not installed; the message names the extra of panewise that has it."""


class StateError(PanewiseError, RuntimeError):
    """Stored state is corrupt, of an unknown format, or of another specification."""


class ConcurrentCallError(PanewiseError, RuntimeError):
    """A thread called an operator or a store while another thread was within a call (semantics 31.24).

    The call has changed nothing, and can be repeated.
    """


class DeliveryDisabledError(PanewiseError, RuntimeError):
    """A downstream refused an emission, which still waits, so nothing can be added (semantics 32.2)."""


class StoreError(PanewiseError, RuntimeError):
    """The files of a store cannot be used, or the store is closed (semantics 34.3 to 34.5)."""


class AggregateOverflowError(PanewiseError, ArithmeticError):
    """The result of an aggregate does not fit its type (semantics 24.3, 24.16)."""


class SpecWarning(UserWarning):
    """A specification is valid, but may not do what was intended."""


class DataLossWarning(SpecWarning):
    """The trigger can close a window while rows for it may still arrive (semantics 19)."""


class DroppedLateRowsWarning(SpecWarning):
    """One of Spark's own stateful operators drops late rows before they reach this operator (12.11)."""


class UnguardedWatermarkWarning(SpecWarning):
    """Rows beyond `max_future_skew` are invalid, but move the watermark of the query (semantics 15.3)."""


class IdleTriggerWarning(SpecWarning):
    """A part of the trigger can never fire (semantics 16.13)."""


class ManyWindowsWarning(SpecWarning):
    """A row can be in more than 1,000 windows, each of which is stored and evaluated (semantics 6.9)."""


class SetupWarning(UserWarning):
    """A setting of Spark works, but is expensive."""


class ShufflePartitionsWarning(SetupWarning):
    """A streaming query has far more shuffle partitions than cores.

    Their number is permanent: it cannot change once the query has a checkpoint.
    """
