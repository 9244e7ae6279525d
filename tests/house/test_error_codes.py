"""Each rule of an error has a code, which never changes its meaning."""

from collections.abc import Iterator

import pytest

from panewise.error_codes import HOLE, ErrorCode, code_of, error_codes
from tests.house.sources import check_each
from tools import error_table
from tools.error_rules import RaisedRule, raised_rules, unknown_rules

USED = [entry for entry in error_codes().values() if not entry.removed]


def test_each_rule_has_a_code_and_each_code_a_rule() -> None:
    """`make names` gives a code to a new rule, and removes or deletes a code whose rule no error has."""
    table = error_table.load()
    rules = {rule.rule for rule in raised_rules()}
    in_use = {entry["rule"] for entry in table.values() if not entry.get("removed")}
    assert sorted(rules - in_use) == [], "rules without a code: run `make names`"
    assert sorted(in_use - rules) == [], "codes of rules that no error has: run `make names`"


def test_the_rule_of_each_call_is_known() -> None:
    """The text of a rule is a constant or an f-string that the sources show, and stands beside a remedy."""
    assert [*unknown_rules()] == []


def test_the_table_has_all_released_codes_and_no_other_removed_ones() -> None:
    table = error_table.load()
    released = error_table.released()
    assert sorted(released - table.keys()) == []
    assert sorted(code for code in table.keys() - released if table[code].get("removed")) == []


def test_a_code_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that is removed nor one that is deleted: a new rule has a number above all others."""
    monkeypatch.setattr(error_table, "released", lambda: frozenset({"PW-TIME-001"}))
    monkeypatch.setattr(error_table, "stored_numbers", lambda: {"TIME": 3})
    table = {"PW-TIME-001": {"rule": "a"}, "PW-TIME-002": {"rule": "b"}}
    changed = error_table.updated(table, [RaisedRule("SpecError", "", "c", "", "chrono.py", 1)])
    assert {code: entry.get("removed", False) for code, entry in changed.items()} == {
        "PW-TIME-001": True,
        "PW-TIME-004": False,
    }


def test_the_highest_numbers_are_stored() -> None:
    numbers = error_table.stored_numbers()
    assert error_table.last_numbers(error_table.load(), numbers) == numbers


def test_no_two_codes_have_one_rule() -> None:
    rules = [entry.rule for entry in USED]
    assert len(rules) == len(set(rules))


def other_codes(entry: ErrorCode) -> Iterator[str]:
    for filling in ("n", "other name", "['a', 'b']"):
        rule = entry.rule.replace(HOLE, filling)
        if code_of(rule) != entry.code:
            yield f"{entry.code}: {rule!r} has the code {code_of(rule)}"


def test_a_rule_has_its_code_whatever_its_names_are() -> None:
    """No other template says more of a rule: with the one that says most a rule has one code."""
    check_each(USED, other_codes)


def test_a_remedy_that_is_formatted_is_that_of_its_rule() -> None:
    """The rule and the remedy are arguments of one call of a function, which formats the remedy."""
    (raised,) = {one for one in raised_rules() if one.rule.startswith("the event time is a timestamp with")}
    assert raised.remedy == "cast it to TIMESTAMP in the right time zone"


def missing_parts(entry: ErrorCode) -> Iterator[str]:
    if not entry.remedy or not entry.errors or not entry.source:
        yield f"{entry.code} ({entry.source}): {entry.rule}"


def test_each_rule_has_a_remedy() -> None:
    check_each(USED, missing_parts)
