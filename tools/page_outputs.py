"""Runs the examples of pages, and writes the outputs that they print: `python -m tools.page_outputs PAGE...`.

A test runs the examples and compares. So nobody writes an output by hand. The examples of several pages share
their names, as those of the tutorial do in tests/spark/test_site_pages.py.
"""

import contextlib
import doctest
import io
import sys
from pathlib import Path
from typing import Any


def rewrite(page: Path, names: dict[str, Any]) -> None:
    """Runs the examples of a page in order, and puts what they print in the place of the outputs shown."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    for example in reversed(_run(text, str(page), names)):
        first = example.lineno + example.source.count("\n")
        shown = [" " * example.indent + line if line else "<BLANKLINE>" for line in example.want.splitlines()]
        old = first + _outputs(lines[first:])
        lines[first:old] = shown
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _outputs(lines: list[str]) -> int:
    """Returns how many of these lines, which follow an example, are its output."""
    for number, line in enumerate(lines):
        if not line.strip() or line.strip().startswith((">>>", "```")):
            return number
    return len(lines)


def _run(text: str, name: str, names: dict[str, Any]) -> list[doctest.Example]:
    """Returns the examples, each with what it printed as its output."""
    examples = doctest.DocTestParser().get_examples(text, name)
    for example in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.source, name, "single"), names)
        example.want = printed.getvalue()
    return examples


if __name__ == "__main__":
    shared: dict[str, Any] = {"__name__": "__main__"}
    for argument in sys.argv[1:]:
        rewrite(Path(argument), shared)
