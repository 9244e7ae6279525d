"""Facts about a specification, its words and JSON: :class:`panewise.spec.family_parts.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from panewise.errors import SpecError
from panewise.spec.family_parts import SpecParts
from panewise.spec.fields import members_of, text
from panewise.spec.protocol import Types, Users
from tests.families.pairs.spec import LEFT, RIGHT, Pairs, Side


class _PairsParts(SpecParts[Pairs]):
    def reads(self, document: Mapping[str, Any]) -> bool:
        return document.get("family") == "pairs"

    def to_dict(self, spec: Pairs) -> dict[str, Any]:
        sides = {name: {"key": side.key, "event_time": side.event_time} for name, side in spec.ports.items()}
        return {"family": "pairs", **sides}

    def from_dict(self, document: Mapping[str, Any], users: Users) -> Pairs:
        members = members_of(document, "", {"family", LEFT, RIGHT}, required=(LEFT, RIGHT))
        return Pairs(_side(members[LEFT], LEFT), _side(members[RIGHT], RIGHT))

    def describe(self, spec: Pairs) -> str:
        return f"Counts the rows of two inputs by {spec.left.key} and {spec.right.key}."

    def check_types(self, spec: Pairs, types: Mapping[str, Types]) -> None:
        kinds = [types[name].get(side.key) for name, side in spec.ports.items()]
        if None not in kinds and kinds[0] != kinds[1]:
            raise SpecError(f"keys of {kinds[0]} and {kinds[1]}", "keys have one type", "cast one of them")

    def renamed(self, spec: Pairs, port: str, names: Mapping[str, str]) -> Pairs:
        side = spec.ports[port]
        changed = replace(side, key=names.get(side.key, side.key))
        return replace(spec, left=changed) if port == LEFT else replace(spec, right=changed)

    def with_position(self, spec: Pairs, position: Any) -> Pairs:
        raise SpecError("a position", "pairs have no source position", "leave it out")

    def unchanged(self, spec: Pairs, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
        return {"key": (LEFT, spec.left.key)}

    def instants(self, spec: Pairs) -> tuple[str, ...]:
        return ("passed",)

    def output_time(self, spec: Pairs) -> tuple[str, str, str]:
        return "pairs before a second operator", "counts have no event time", "write them"


def _side(value: Any, where: str) -> Side:
    members = members_of(value, where, {"key", "event_time"}, required=("key", "event_time"))
    return Side(*(text(members[name], f"{where}.{name}") for name in ("key", "event_time")))


PARTS = _PairsParts()
