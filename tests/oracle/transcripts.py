"""Runs transcripts on the oracle: a document is one operator, its events, and what each event must answer."""

import copy
import math
import warnings
from pathlib import Path
from typing import Any

import yaml

from panewise.errors import SpecWarning
from panewise.oracle import ChainInterpreter, Interpreter, PolicyInterpreter, interpreter
from panewise.spec import Specification
from panewise.spec.codec import from_dict
from tests.transcripts.functions import USER_LISTENERS, USER_WINDOWS

FOLDER = Path(__file__).parents[1] / "transcripts"
NOTHING: dict[str, Any] = {"panes": [], "late": [], "invalid": [], "counts": {}}


def documents() -> list[tuple[str, dict[str, Any]]]:
    """All documents with the name of their file, in order."""
    return [(path.stem, document) for path in sorted(FOLDER.glob("*.yaml")) for document in yaml.safe_load(path.read_text("utf-8"))]


def operator(document: dict[str, Any]) -> Specification:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return from_dict(document["spec"], user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)


def run(document: dict[str, Any]) -> None:
    """Feeds the events; raises AssertionError with the event's number at the first difference."""
    oracle = interpreter(operator(document))
    for number, event in enumerate(document["events"]):
        if event["op"] == "restart":
            oracle, answer = copy.deepcopy(oracle), NOTHING
        else:
            answer = apply(oracle, event)
        where = f"{document['name']}, event {number}: {event}"
        differences = compare(event.get("expect", {}), answer)
        assert not differences, f"{where}\n" + "\n".join(differences)
        if "state" in event:
            held = [[window["window_start"], window["window_end"]] for window in oracle.windows()]
            assert held == event["state"], where


def apply(oracle: Interpreter | ChainInterpreter | PolicyInterpreter, event: dict[str, Any]) -> dict[str, Any]:
    if isinstance(oracle, PolicyInterpreter):
        return apply_to_policies(oracle, event)
    match event["op"]:
        case "add":
            return oracle.add(event["rows"])
        case "watermark":
            return oracle.watermark(event["to"], event.get("input"))
        case "clock":
            return oracle.clock(event["to"])
        case "finish":
            return oracle.finish()
    raise AssertionError(event)


def apply_to_policies(oracle: PolicyInterpreter, event: dict[str, Any]) -> dict[str, Any]:
    given = [event[name] for name in ("rows", "to", "partition") if name in event]
    return getattr(oracle, event["op"])(*given)


def compare(expected: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """What differs, in words; rows that are not expected are differences too."""
    unknown = sorted(set(expected) - set(NOTHING))
    found = [f"unknown field {name}" for name in unknown]
    for output in ("panes", "late", "invalid"):
        wanted, got = expected.get(output, []), answer[output]
        if len(wanted) != len(got):
            found.append(f"{output}: {len(wanted)} expected, not {got}")
        for number, (one, other) in enumerate(zip(wanted, got, strict=False)):
            found += _differences(f"{output}[{number}]", one, other)
    return found + _differences("counts", expected.get("counts", {}), answer["counts"])


def _differences(where: str, wanted: dict[str, Any], got: dict[str, Any]) -> list[str]:
    return [
        f"{where}.{name}: {value!r} expected, not {got.get(name, 'missing')!r}"
        for name, value in wanted.items()
        if name not in got or not same(value, got[name])
    ]


def same(one: Any, other: Any) -> bool:
    """Equality as transcripts mean it: NaN equals NaN, floats within a billionth, ints are not floats."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return math.isnan(one) and math.isnan(other) or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)
