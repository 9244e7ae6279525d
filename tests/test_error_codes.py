"""Codes of rules: templates and their explanations."""

import pytest

from panewise.error_codes import ErrorCode, code_of, explanation


@pytest.mark.parametrize(
    ("template", "rule", "matches"),
    [
        ("{} is above zero", "size is above zero", True),
        ("{} is above zero", "a size is above zero", False),
        ("the inputs are {} and {}", "the inputs are ['a'] and b and c", True),
        ("the inputs are {} and {}", "the inputs are ['a']", False),
        ("a {}b{} c", "a b c", True),
        ("ab{}bc", "abc", False),
        ("a rule", "a rule", True),
        ("a rule", "a rule too", False),
    ],
)
def test_a_template_matches_rules(template: str, rule: str, matches: bool) -> None:
    """A hole at the beginning is for a name, so what begins with an article is another rule."""
    assert ErrorCode("PW-X-001", template).matches(rule) is matches


def test_joined_rules_have_the_code_of_the_first() -> None:
    first, second = "a duration fits in 64 bits", "a duration is exact"
    assert code_of(f"{first}; {second}") == code_of(first)
    assert code_of(f"{second}; {first}") == code_of(second)


def test_an_explanation_of_a_code_that_is_not_there() -> None:
    assert explanation(" [pw-time-002] ").startswith("PW-TIME-002: a duration fits in 64 bits")
    with pytest.raises(KeyError):
        explanation("PW-TIME-999")
