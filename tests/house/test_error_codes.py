"""Each rule of an error has a code, which never changes its meaning."""

from collections.abc import Iterator

from panewise.error_codes import HOLE, ErrorCode, code_of, error_codes
from tests.house.sources import ROOT, check_each
from tools import error_table
from tools.error_rules import raised_rules, unknown_rules

# The last number of each subject: a line for each. `make names` never lowers it.
LAST_NUMBERS = ROOT / "tests" / "house" / "error_codes.txt"
USED = [entry for entry in error_codes().values() if not entry.removed]


def test_each_rule_has_a_code_and_each_code_a_rule() -> None:
    """A rule without a code is a new one, and a code whose rule no error has is removed: run `make names`."""
    table = error_table.load()
    rules = {rule.rule for rule in raised_rules()}
    in_use = {entry["rule"] for entry in table.values() if not entry.get("removed")}
    assert sorted(rules - in_use) == [], "rules without a code: run `make names`"
    assert sorted(in_use - rules) == [], "codes of rules that no error has: run `make names`"


def test_the_rule_of_each_call_is_known() -> None:
    """The text of a rule is a constant or an f-string that the sources show, and stands beside a remedy."""
    assert [*unknown_rules()] == []


def test_no_code_is_removed_or_used_again() -> None:
    table = error_table.load()
    numbers = error_table.last_numbers(table)
    assert set(table) == {
        f"PW-{subject}-{number:03}" for subject, last in numbers.items() for number in range(1, last + 1)
    }
    lines = LAST_NUMBERS.read_text(encoding="utf-8").splitlines()
    assert lines == [f"{subject} {last}" for subject, last in sorted(numbers.items())]


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


def missing_parts(entry: ErrorCode) -> Iterator[str]:
    if not entry.remedy or not entry.errors or not entry.source:
        yield f"{entry.code} ({entry.source}): {entry.rule}"


def test_each_rule_has_a_remedy() -> None:
    check_each(USED, missing_parts)
