"""Where documents of conditions differ from the fields of their nodes, in one table."""

from typing import Any, Final, get_args

from panewise.spec.codec.by_fields import ANYTHING, Decoder, Form, Forms, plain
from panewise.spec.conditions import literals, nodes
from panewise.spec.fields import is_whole, kind_of, text, wrong


def _node(decoder: Decoder, value: Any, where: str) -> Any:
    if where.count(".") >= nodes.MAX_DEPTH:  # each node is in a field of another one
        raise nodes.too_deep(f"{where[:60]}... is deeper")
    return decoder.fields(_NODES[kind_of(value, where, _NODES)], value, where)


def _nodes(least: int) -> Form:
    def read(decoder: Decoder, value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)) or len(value) < least:
            raise wrong(where, value, f"a list of {least} or more nodes of a condition")
        parts = []
        for n, part in enumerate(value):  # a comprehension would need a frame more of the stack
            parts.append(_node(decoder, part, f"{where}[{n}]"))
        return tuple(parts)

    return Form(read=read)


def _one_of(known: tuple[str, ...]) -> Form:
    def read(value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in known:
            raise wrong(where, value, f"one of {', '.join(known)}")
        return value

    return plain(read)


def _column_name(value: Any, where: str) -> str:
    if not text(value, where):
        raise wrong(where, value, "the name of a column")
    return str(value)


def _literal(decoder: Decoder, cls: Any, values: dict[str, Any], where: str) -> literals.Literal:
    kind, value = values["type"], values["value"]
    if kind == "double" and is_whole(value):
        value = float(value)  # other writers of JSON write 1.0 as 1
    if not literals.is_literal(kind, value):
        known = f"a value of type {kind!r}; the types are {', '.join(literals.TYPES)}"
        raise wrong(f"{where}.value", value, known)
    return literals.Literal(kind, value)


CONDITION_FORMS: Final[Forms] = {
    nodes.Node: Form(read=_node),
    nodes.Column: Form("column", fields={"side": _one_of(nodes.SIDES), "name": plain(_column_name)}),
    literals.Literal: Form("literal", fields={"type": ANYTHING, "value": ANYTHING}, make=_literal),
    nodes.Arithmetic: Form("arithmetic", fields={"op": _one_of(nodes.ARITHMETIC)}),
    nodes.Comparison: Form("comparison", fields={"op": _one_of(nodes.COMPARISONS)}),
    nodes.And: Form("and", fields={"parts": _nodes(2)}),
    nodes.Or: Form("or", fields={"parts": _nodes(2)}),
    nodes.Not: Form("not"),
    nodes.IsNull: Form("is_null"),
    nodes.Between: Form("between"),
    nodes.In: Form("in", fields={"options": _nodes(1)}),
}
_NODES: Final = {CONDITION_FORMS[cls].kind or "": cls for cls in get_args(nodes.Node)}
