"""Checks the prerequisites of the environment: the version of Python, and Java for Spark.

It runs before the environment exists, on any `python3`. So it uses only the standard library and old syntax.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PYTHON = (3, 11)
JAVA = (17, 21)


def explain(given, rule, remedy):
    """Returns a message in the form that all messages of this project have."""
    return "{} | {} | {}".format(given, rule, remedy)


def python_problem(version):
    """Returns what is wrong with a version of Python, or None if nothing is."""
    if tuple(version[:2]) >= PYTHON:
        return None
    given = "python3 is Python {}.{}".format(*version[:2])
    return explain(
        given, "panewise needs Python 3.11 or newer", "install one and put it first in PATH as python3"
    )


def java_command(environ):
    """Returns the java that Spark would start, or None: that of JAVA_HOME if set, else the first in PATH."""
    home = environ.get("JAVA_HOME")
    if home:
        return shutil.which("java", path=str(Path(home) / "bin"))
    return shutil.which("java", path=environ.get("PATH"))


def java_version(text):
    """Returns the major version in the output of `java -version`, or None. Java 8 calls itself 1.8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def java_problem(environ):
    """Returns what is wrong with Java, or None if nothing is."""
    remedy = (
        "install Java 17 (Debian: apt-get install openjdk-17-jre-headless), and set JAVA_HOME or PATH to it"
    )
    rule = "Spark 4 runs on Java 17 or 21"
    command = java_command(environ)
    if command is None:
        where = "JAVA_HOME={!r}".format(environ["JAVA_HOME"]) if environ.get("JAVA_HOME") else "PATH"
        return explain("no java in {}".format(where), rule, remedy)
    shown = subprocess.run(
        [command, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    version = java_version(shown.stdout.decode(errors="replace"))
    if version in JAVA:
        return None
    return explain("{} is Java {}".format(command, version or "of unknown version"), rule, remedy)


def main():
    """Prints every problem; returns 1 if there is one, otherwise 0."""
    problems = [p for p in (python_problem(sys.version_info), java_problem(os.environ)) if p is not None]
    for problem in problems:
        sys.stderr.write(problem + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
