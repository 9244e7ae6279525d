"""Reads the names of column types as Spark's DDL writes them: "array<struct<a:bigint,b:string>>"."""

import re
from dataclasses import dataclass
from typing import Final

from panewise.errors import InputError

_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|\w+|[<>(),:]|\S)")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD: Final = re.compile(r"\w+")
_FIELDS: Final = {"array": ("element",), "map": ("key", "value")}


@dataclass(frozen=True)
class TypeText:
    """A type as a tree.

    Attributes:
        name: the name in lower case: "bigint", "decimal", "array", "struct", "map".
        digits: the numbers in parentheses, as precision and scale of a decimal.
        fields: the parts of a nested type by name. That of an array is named "element", those of a map are
            "key" and "value".

    >>> str(TypeText.of("MAP<string, struct<a bigint>>"))
    'map<string,struct<a:bigint>>'
    """

    name: str
    digits: tuple[int, ...] = ()
    fields: tuple[tuple[str, "TypeText"], ...] = ()

    @classmethod
    def of(cls, text: str) -> "TypeText":
        """Returns the tree of a text.

        Raises:
            InputError: if the text has another form.
        """
        if not isinstance(text, str):
            raise _malformed(text)
        reader = _Reader(text, _TOKEN.findall(text.strip()))
        found = reader.type()
        if reader.tokens:
            raise _malformed(text)
        return found

    def __str__(self) -> str:
        if self.digits:
            return f"{self.name}({','.join(map(str, self.digits))})"
        if self.name == "struct":
            return f"struct<{','.join(f'{_quoted(name)}:{part}' for name, part in self.fields)}>"
        inner = ",".join(str(part) for _, part in self.fields)
        return f"{self.name}<{inner}>" if inner else self.name


@dataclass
class _Reader:
    """The tokens of a text that have not been read yet."""

    text: str
    tokens: list[str]

    def type(self) -> TypeText:
        name = self.next().lower()
        if name == "decimal" and self.skip("("):
            return TypeText(name, self.numbers())
        if name in _FIELDS:
            self.need("<")
            fields: list[tuple[str, TypeText]] = []
            for field in _FIELDS[name]:
                if fields:
                    self.need(",")
                fields.append((field, self.type()))
            self.need(">")
            return TypeText(name, (), tuple(fields))
        return TypeText(name, (), self.struct_fields() if name == "struct" else ())

    def numbers(self) -> tuple[int, ...]:
        found = [self.number()]
        while self.skip(","):
            found.append(self.number())
        self.need(")")
        return tuple(found)

    def number(self) -> int:
        token = self.next()
        if not token.isdecimal():
            raise _malformed(self.text)
        return int(token)

    def struct_fields(self) -> tuple[tuple[str, TypeText], ...]:
        self.need("<")
        found: dict[str, TypeText] = {}
        while not found or self.skip(","):
            name = self.next()
            if name.startswith("`"):
                name = name[1:-1].replace("``", "`")
            elif not _WORD.fullmatch(name):
                raise _malformed(self.text)
            if name in found:
                raise _malformed(self.text)
            self.skip(":")
            found[name] = self.type()
        self.need(">")
        return tuple(found.items())

    def next(self) -> str:
        if not self.tokens:
            raise _malformed(self.text)
        return self.tokens.pop(0)

    def skip(self, token: str) -> bool:
        """Reads the token if it is the next one, and returns whether it was."""
        found = self.tokens[:1] == [token]
        if found:
            self.tokens.pop(0)
        return found

    def need(self, token: str) -> None:
        if not self.skip(token):
            raise _malformed(self.text)


def _quoted(name: str) -> str:
    return name if _NAME.fullmatch(name) else "`{}`".format(name.replace("`", "``"))


def _malformed(text: object) -> InputError:
    rule = "a type is written as in Spark's DDL: bigint, array<bigint>, struct<a:bigint,b:string>"
    return InputError(f"type={text!r}", rule, "give such a type")
