"""This release opens the stores of earlier ones. ``make_golden`` writes the files."""

from pathlib import Path
from typing import Any

import pytest

from panewise.standalone.retained import files
from tests.standalone.retained.make_golden import CASES, FOLDER, FORMAT, fill, orders, restore


def continued(operator: Any) -> Any:
    """Returns windows and messages, what a late message makes of them, and what is due at a time-out."""
    state = [one._replace(partial=b"") for one in operator.get_windows(-99, 99)]
    replay = operator.add_message({"event_time": 2, "v": 1, "k": "a"}, 30)
    kind = operator.add_message({"event_time": 4, "v": 100, "k": "a"}, 40)
    operator.timeout(100)
    outputs = [(one.sequence, one.firing, one.window.value, one.messages) for one in operator.drain()]
    return state, replay, kind, outputs, operator.counts.applied, operator.position, operator.clock


@pytest.mark.parametrize("name", CASES)
def test_an_operator_continues_a_store_of_each_format(name: str, tmp_path: Path) -> None:
    """semantics 26.10"""
    if name == "orders":  # when format 1 was written, the boundary at which a message arrives counted
        with orders(tmp_path / "new", early="each") as operator:
            fill(operator, last=0)
    with CASES[name](tmp_path / "new") as operator:
        fill(operator)
        wanted = continued(operator)
    for number in range(1, FORMAT + 1):
        store = tmp_path / str(number)
        restore(name, number, store)
        with CASES[name](store) as operator:
            found = continued(operator)
        assert found == wanted
    assert found[1:3] == ("replay", "in_time" if name == "orders" else "past")
    assert len(found[3]) > 0


def test_each_format_has_files() -> None:
    assert files._FORMAT == FORMAT
    for name in CASES:
        assert (FOLDER / f"{name}-format-{FORMAT}.json").exists()
