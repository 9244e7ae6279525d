"""The error of a failed query, whose message begins with the reason, before Spark's report.

Spark's report of an error in a Python worker has 4,000 to 16,000 characters: the tracebacks of the worker and
the JVM.
"""

import re
import sys

from pyspark.errors import PySparkException, StreamingQueryException

_OURS = re.compile(r"\bpanewise\.errors\.(\w+): (.+)")
_TRACEBACK = "Traceback (most recent call last):"
# This error only says which method of the JVM was called. The reason is an error of the JVM.
_CALL = "py4j.protocol.Py4JJavaError: "
_JVM = re.compile(r"^(?:Caused by)?: (?!py4j\.)(.+)", re.MULTILINE)
_BEFORE = re.compile(
    r"^(\[STREAM_FAILED\].*?terminated with exception: |An error occurred while calling [^\n]*\n: )",
    re.DOTALL,
)


class QueryError(StreamingQueryException):
    """A streaming query failed. The message is the reason, in one sentence, and then Spark's report.

    `reason` is that sentence, and `report` is the whole report.
    """

    def __init__(self, report: str) -> None:
        self.reason, self.report = reason_of(report), report
        super().__init__(message=f"{self.reason}\n\n{report}")


def reason_of(report: str) -> str:
    r"""Returns the sentence of a report that says why the query failed.

    It is the last error of panewise in the report. Without one it is the last error of Python, and without
    that the first line of the report. If the last error of Python is a failed call into the JVM, as when a
    sink cannot write, it is the root cause in the JVM.

    >>> reason_of("Traceback (most recent call last):\n  File ...\nValueError: no such day\n\tat org.apache")
    'ValueError: no such day'
    """
    ours = _OURS.findall(report)
    if ours:
        return ": ".join(ours[-1]).strip()
    reason = ""
    inside = False
    for line in report.splitlines():
        if _TRACEBACK in line:
            inside = True
        elif inside and line.strip() and not line[0].isspace():
            reason, inside = line.strip(), False
    if reason.startswith(_CALL):
        causes = _JVM.findall(report[report.rindex(reason) :])
        reason = causes[-1].strip() if causes else reason
    lines = _BEFORE.sub("", report).strip().splitlines()
    return reason or (lines[0] if lines else "Spark gives no reason")


def spark_errors() -> tuple[type[Exception], ...]:
    """Returns the errors of Spark: its own and, in a classic session, untranslated ones of its bridge."""
    bridge = sys.modules.get("py4j.protocol")  # not imported in a Connect session
    return (PySparkException,) if bridge is None else (PySparkException, bridge.Py4JError)


def cause_of(error: Exception) -> str:
    """Returns the root cause of an error of Spark, in one line."""
    lines = [
        line.removeprefix(": ")
        for line in str(error).splitlines()
        if not line.startswith("An error occurred")
    ]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return [*lines[:1], *causes][-1]
