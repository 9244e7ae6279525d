"""Converts chains to plain dicts and back. The dict is that of the window operator, with a field `then`."""

from collections.abc import Mapping
from typing import Any

from panewise.spec.codec.aggregates import aggregates_from
from panewise.spec.codec.users import ANY_USER
from panewise.spec.codec.windows import THEN, arguments, completed, plain
from panewise.spec.codec.windows import to_dict as operator_to_dict
from panewise.spec.fields import members_of, names, wrong
from panewise.spec.operators.chain import Chain, Stage, chain_accumulation
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.protocol import Users


def reads(document: Mapping[str, Any]) -> bool:
    """Returns whether the dict has stages."""
    return document.get(THEN, ()) not in ((), [])


def to_dict(spec: Chain) -> dict[str, Any]:
    """Returns the chain as a dict of plain values, with every field."""
    return {**operator_to_dict(spec.first), THEN: plain_stages(spec.stages)}


def from_dict(document: Mapping[str, Any], users: Users) -> Chain:
    """Returns the chain that a dict describes."""
    given = arguments(document, users)
    stages = stages_from(document[THEN], users["aggregates"])
    return Chain(WindowOperator(**given), stages)


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out."""
    given = arguments(document, ANY_USER)
    stages = stages_from(document[THEN], ANY_USER["aggregates"])
    only_updated = bool(given.get("only_updated"))
    accumulation = chain_accumulation(given["window"], given["aggregates"], stages, only_updated=only_updated)
    return {**completed(given, accumulation), THEN: plain_stages(stages)}


def plain_stages(stages: tuple[Stage, ...]) -> list[dict[str, Any]]:
    """Returns stages as plain values."""
    return [{"keys": list(stage.keys), "aggregates": plain(stage.aggregates)} for stage in stages]


def stages_from(value: Any, users: Mapping[str, Any]) -> tuple[Stage, ...]:
    """Returns the stages of a chain that a list of dicts describes."""
    if not isinstance(value, (list, tuple)):
        raise wrong(THEN, value, "a list of stages")
    made = []
    for n, item in enumerate(value):
        members = members_of(item, f"{THEN}[{n}]", {"keys", "aggregates"}, required=("aggregates",))
        keys = names(members.get("keys", ()), f"{THEN}[{n}].keys")
        made.append(
            Stage(
                keys=keys,
                aggregates=aggregates_from(members["aggregates"], users, f"{THEN}[{n}].aggregates"),
            )
        )
    return tuple(made)
