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
├── UnboundedJoinWarning            Spark joins two streams in SQL without a range of time
├── UnguardedWatermarkWarning       `max_future_skew` does not keep a row from moving the watermark
├── DroppedLateRowsWarning          an operator of Spark drops late rows before they reach this one
├── IdleTriggerWarning              a part of the trigger can never fire
└── ManyWindowsWarning              a row can be in more than 1,000 windows
SetupWarning (UserWarning)          a setting of Spark works, but is expensive
└── ShufflePartitionsWarning        far more shuffle partitions than cores

A message: what was given | the rule that it breaks | what to do [the code of the rule].
"""

import re

from panewise.error_codes import code_of

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
    "UnboundedJoinWarning",
    "UnguardedWatermarkWarning",
]

# Polars appends this text and the expression in which the function that raised was called.
_POLARS_NOTE = "\n\nThis error occurred in the following "
# What a message has after its three parts, before the place in a text of SQL.
_CODE = re.compile(r" \[(PW-[A-Z]+-\d+)\]$", re.MULTILINE)


def explain(given: str, rule: str, remedy: str) -> str:
    """Returns a message made of its three parts, with the code of its rule.

    >>> explain("us=1 << 64", "a duration fits in 64 bits", "give a shorter duration")
    'us=1 << 64 | a duration fits in 64 bits | give a shorter duration [PW-TIME-002]'
    """
    message = _message(given, rule, remedy)
    return _with_code(message, code_of(rule), message)


def _message(given: str, rule: str, remedy: str) -> str:
    return f"{given} | {rule} | {remedy}"


def _with_code(message: str, code: str | None, parts: str) -> str:
    """Returns a message with the code after its three parts, at the end of a line."""
    if code is None:
        return message
    end = parts.find("\n", parts.rfind(" | "))
    end = len(parts) if end < 0 else end
    return f"{message[:end]} [{code}]{message[end:]}"


class PanewiseError(Exception):
    """Base class of all errors of panewise.

    Attributes:
        given: what was given.
        rule: the rule that it breaks.
        remedy: what to do.
        code: the code of the rule, such as "PW-WINDOW-001", which never changes its meaning. It is None for a
            rule that is not one of panewise, such as that of an operator family of another package.
            panewise.error_codes.explanation(code) says more.
    """

    def __init__(self, given: str, rule: str | None = None, remedy: str = "") -> None:
        self._printed: str | None = None
        if rule is None:
            # Spark and Polars rebuild an error from its type and message alone: they give the whole message.
            message = given.split(_POLARS_NOTE, maxsplit=1)[0]
            printed = _CODE.search(message)
            if printed is not None:
                self._printed = printed[1]
                message = message[: printed.start()] + message[printed.end() :]
            self.given, self.rule, self.remedy = (*message.split(" | ", 2), "", "")[:3]
        else:
            message = _message(given, rule, remedy)
            self.given, self.rule, self.remedy = given, rule, remedy
        super().__init__(message)

    @property
    def code(self) -> str | None:
        """The code of the rule. It is looked up when it is read: many errors are caught and not shown."""
        return self._printed or code_of(self.rule)

    def __str__(self) -> str:
        return _with_code(super().__str__(), self.code, _message(self.given, self.rule, self.remedy))


class SpecError(PanewiseError, ValueError):
    """A specification breaks a rule of docs/semantics.md."""


class RefusedNameError(SpecError, AttributeError):
    """Panewise does not have this name of pyspark; `hasattr` returns False for it."""


class SqlError(SpecError):
    """A text of SQL breaks a rule (semantics 46). The message shows the line, with a caret below the place.

    Attributes:
        sql: the text, empty if the error has no place.
        start: the number of the first character that it is about, from 0; None if the error has no place.
        end: the number of the character after the last one; None if the error has no place.
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
        self.sql, self.start, self.end = sql, start, end
        self.line: int | None = None
        self.column: int | None = None
        if start is None:
            return
        self.end = end = start + 1 if end is None else end
        first = sql.rfind("\n", 0, start) + 1
        self.line, self.column = sql.count("\n", 0, start) + 1, start - first + 1
        text = sql[first:].split("\n", 1)[0]
        width = max(1, min(end, first + len(text)) - start)
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


class UnboundedJoinWarning(SpecWarning):
    """Spark joins two streams in SQL without a range of time, so their rows never expire (46.159)."""


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
