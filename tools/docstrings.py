"""Makes Markdown of docstrings, as an extension of griffe: examples become blocks, roles code in lines."""

import re
from typing import Any

try:
    from griffe import Extension
except ModuleNotFoundError:  # it is only in the environment of the site's generator
    Extension = object

_EXAMPLE = re.compile(r"^( *)>>> .*?(?=\n *\n|\Z)", re.DOTALL | re.MULTILINE)
_STAR = re.compile(r"(^ *```.*?^ *```|`[^`]*`)|(?<=[\w)])\*(?=[\w(])", re.DOTALL | re.MULTILINE)
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([^`]+)`")


def markdown(text: str) -> str:
    """Returns a docstring as Markdown: with its examples as blocks of code, and without roles of Sphinx."""
    fenced = _EXAMPLE.sub(lambda example: f"{example[1]}```pycon\n{example[0]}\n{example[1]}```", text)
    return _STAR.sub(lambda match: match[1] or r"\*", _ROLE.sub(r"`\1`", fenced))


class Docstrings(Extension):  # type: ignore[misc]
    """Changes the docstring of each object that griffe loads."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Makes Markdown of the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
