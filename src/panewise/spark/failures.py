"""Failed queries: the sentence that says why comes before Spark's report.

Spark's report of an error in a Python worker is 4,000 to 16,000 characters long: the tracebacks of the worker and of the JVM.
"""

import re

from pyspark.errors import StreamingQueryException

_OURS = re.compile(r"\bpanewise\.errors\.(\w+): (.+)")
_TRACEBACK = "Traceback (most recent call last):"
_CALL = "py4j.protocol.Py4JJavaError: "  # only says which method of the JVM was called; the reason is an error of the JVM
_JVM = re.compile(r"^(?:Caused by)?: (?!py4j\.)(.+)", re.MULTILINE)
_BEFORE = re.compile(r"^(\[STREAM_FAILED\].*?terminated with exception: |An error occurred while calling [^\n]*\n: )", re.DOTALL)


class QueryError(StreamingQueryException):
    """A streaming query failed. The message is the sentence that says why, then Spark's report.

    `reason` is that sentence; `report` is all that Spark says.
    """

    def __init__(self, report: str) -> None:
        self.reason, self.report = reason_of(report), report
        super().__init__(message=f"{self.reason}\n\n{report}")


def reason_of(report: str) -> str:
    r"""Returns the sentence of a report that says why: an error of panewise, else the last one of Python, else its first line.

    Where the last error of Python is that of a call into the JVM, as when a sink cannot write, it is the JVM's own first cause.

    >>> reason_of("Job aborted: Traceback (most recent call last):\n  File ...\nValueError: no such day\n\tat org.apache.spark")
    'ValueError: no such day'
    """
    ours = _OURS.findall(report)
    if ours:
        return ": ".join(ours[-1]).strip()
    found = ""
    inside = False
    for line in report.splitlines():
        if _TRACEBACK in line:
            inside = True
        elif inside and line.strip() and not line[0].isspace():
            found, inside = line.strip(), False
    if found.startswith(_CALL):
        causes = _JVM.findall(report[report.rindex(found) :])
        found = causes[-1].strip() if causes else found
    lines = _BEFORE.sub("", report).strip().splitlines()
    return found or (lines[0] if lines else "Spark gives no reason")
