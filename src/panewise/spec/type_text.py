"""Reads the names of column types as Spark's DDL writes them: "array<struct<a:bigint,b:string>>"."""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from panewise.errors import InputError

_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|\w+|[<>(),:]|\S)")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD: Final = re.compile(r"\w+")
_FIELDS: Final = {"array": ("element",), "map": ("key", "value")}


class TypeTree(NamedTuple):
    """A type as a tree: its name in lower case, the numbers in parentheses, and the parts of a nested type.

    The part of an array is named "element", those of a map are named "key" and "value".
    """

    name: str
    digits: tuple[int, ...] = ()
    fields: tuple[tuple[str, "TypeTree"], ...] = ()


def parse(text: str) -> TypeTree:
    """Returns the tree of a text.

    Raises:
        InputError: if the text has another form.
    """
    if not isinstance(text, str):
        raise _malformed(text)
    reader = _Reader(text, _TOKEN.findall(text.strip()))
    tree = reader.type()
    if reader.tokens:
        raise _malformed(text)
    return tree


def field_name(name: str) -> str:
    """Returns the name of a field, in backticks if it is not a simple one."""
    return name if _NAME.fullmatch(name) else "`{}`".format(name.replace("`", "``"))


@dataclass
class _Reader:
    """The tokens of a text that have not been read yet."""

    text: str
    tokens: list[str]

    def type(self) -> TypeTree:
        name = self.next().lower()
        if name == "decimal" and self.skip("("):
            return TypeTree(name, self.numbers())
        if name in _FIELDS:
            self.need("<")
            fields: list[tuple[str, TypeTree]] = []
            for field in _FIELDS[name]:
                if fields:
                    self.need(",")
                fields.append((field, self.type()))
            self.need(">")
            return TypeTree(name, (), tuple(fields))
        return TypeTree(name, (), self.struct_fields() if name == "struct" else ())

    def numbers(self) -> tuple[int, ...]:
        digits = [self.number()]
        while self.skip(","):
            digits.append(self.number())
        self.need(")")
        return tuple(digits)

    def number(self) -> int:
        token = self.next()
        if not token.isdecimal():
            raise _malformed(self.text)
        return int(token)

    def struct_fields(self) -> tuple[tuple[str, TypeTree], ...]:
        self.need("<")
        fields: dict[str, TypeTree] = {}
        while not fields or self.skip(","):
            name = self.next()
            if name.startswith("`"):
                name = name[1:-1].replace("``", "`")
            elif not _WORD.fullmatch(name):
                raise _malformed(self.text)
            if name in fields:
                raise _malformed(self.text)
            self.skip(":")
            fields[name] = self.type()
        self.need(">")
        return tuple(fields.items())

    def next(self) -> str:
        if not self.tokens:
            raise _malformed(self.text)
        return self.tokens.pop(0)

    def skip(self, token: str) -> bool:
        """Reads the token if it is the next one, and returns whether it was."""
        is_next = self.tokens[:1] == [token]
        if is_next:
            self.tokens.pop(0)
        return is_next

    def need(self, token: str) -> None:
        if not self.skip(token):
            raise _malformed(self.text)


def _malformed(text: object) -> InputError:
    rule = "a type is written as in Spark's DDL: bigint, array<bigint>, struct<a:bigint,b:string>"
    return InputError(f"type={text!r}", rule, "give such a type")
