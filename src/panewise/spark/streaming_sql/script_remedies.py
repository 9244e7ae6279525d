"""What to do in a script about an error that Spark raises, or whose remedy is written for Python."""

from typing import Final

from pyspark.errors import PySparkException

from panewise.errors import SqlError

# Arguments of `write` as remedies name them, and what a script has in their place.
_IN_A_SCRIPT: Final = {
    "available_now=True": "SET panewise.trigger = 'available now'",
    "whose initial_state= comes": "with the option initial_state of the table, which comes",
    "as initial_state=": "as the option initial_state of the table",
}
_NO_PATH: Final = "PATH_NOT_FOUND"


def of_scripts(remedy: str) -> str:
    """Returns a remedy with the statements of scripts in the place of arguments.

    >>> of_scripts("start once with available_now=True")
    "start once with SET panewise.trigger = 'available now'"
    """
    for argument, statement in _IN_A_SCRIPT.items():
        remedy = remedy.replace(argument, statement)
    return remedy


def refusal_of_spark(error: PySparkException) -> SqlError:
    """Returns the error of a statement that Spark refuses."""
    said = str(error).strip().split("\n", 1)[0]
    if (error.getCondition() or "") == _NO_PATH:
        rule = "a view reads files that are there when the script starts"
        return SqlError(said, rule, "correct the path, which is relative to the directory of the process")
    return SqlError(said, "a statement is one that Spark runs", "change it as Spark says")
